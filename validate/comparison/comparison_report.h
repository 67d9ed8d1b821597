#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/document/document.h"
#include "program/timeline/timeline_json.h"
#include "validate/comparison/timeline_comparison.h"

namespace shardsim {

// The (at most) `count` operations whose errors may lengthen iterations most, largest first: 2 us at 80 % weigh less
// than 50 ms at 15 %, and a collective counts by what of it is exposed. Errors below a nanosecond are none.
inline constexpr std::size_t kWorstOperations = 3;  // that are shown
std::vector<ComparedOperation> worst_operations(const TimelineComparison& comparison, std::size_t count);

// A tolerance bounds the iteration, and every class and every collective that takes at least this share of the
// iteration.
inline constexpr double kJudgedShare = 0.01;
// Rows matched by class are not: their class is.
bool is_judged(const ComparedOperation& operation, bool is_class);

// Returns the figures outside the tolerance, a phrase each ("iteration +12.3 %"): iteration, classes, collectives, and
// operations of one side alone that take the share above. Empty: all within.
std::vector<std::string> outside_tolerance(const TimelineComparison& comparison, double tolerance_pct);

struct ComparedCase {
  TimelineComparison comparison;
  Timeline predicted, observed;
};

// All that `shardsim compare` has to say.
struct ComparisonReport {
  std::string predicted, observed;  // paths as given
  std::optional<double> tolerance_pct;
  std::vector<ComparedCase> cases;
  std::vector<std::string> only_predicted, only_observed;  // cases without a partner

  // Returns the figures outside the tolerance, "CASE: iteration +12.3 %"; empty without a tolerance.
  std::vector<std::string> outside() const;
};

// docs/formats/comparisons.md, `shardsim.comparison/1`, ending in a line feed.
std::string comparison_json(const ComparisonReport& report);

// Timelines as they lie in a file or a folder, and what reading them had to note.
struct TimelineSource {
  std::string path;  // as given
  std::vector<NamedTimeline> cases;
  bool names_no_case = false;  // Kineto traces
  std::vector<std::string> notes;
  std::vector<double> steps_ms = {};  // of a trace of one rank: its steps by their marks

  std::vector<std::string> names() const;  // of the cases
};

// timeline.h5 (`shardsim.timeline/1`) or *.timeline.json (`shardsim.timeline_json/1`), told apart by their first bytes.
// Errors: Failure::input naming the file.
TimelineSource read_timeline_source(const std::filesystem::path& path);

// A folder of Kineto traces.
TimelineSource read_kineto_source(const std::filesystem::path& folder);

// Compares the cases of one name; where each side has one case only, those two, whatever they are called, with a note.
// `only`: patterns of case names, and those cases alone (none: all); of an observation with a single case, or of
// traces, the one case that they fit chooses the prediction. Errors (Failure::input): as compare_timelines; no case of
// one name; a pattern that fits no prediction; one case asked for that was not observed.
ComparisonReport compare_sources(const TimelineSource& predicted, const TimelineSource& observed,
                                 const std::vector<std::string>& only);

// The spread of an observation, below which it says nothing of errors.
struct ObservedSpread {
  // From the shortest to the longest iteration, in percent of the median; none: fewer than two iterations.
  std::optional<double> iterations_pct;
  // From the rank that computes least in an iteration to the one that computes most, in percent of the latter; none:
  // fewer than two ranks, or nothing is computed.
  std::optional<double> ranks_pct;
  int least_rank = -1, most_rank = -1;  // of ranks_pct
};
ObservedSpread observed_spread(const TimelineComparison& comparison);

// "8 ranks, 20 iterations observed on 2 x A100 (n0, n1), nccl, NCCL 2.18.3".
std::string observed_on(const TimelineComparison& comparison);

// Spread, clocks, and what the machines said of themselves (Timeline::Measured::more), one row each. Without blocks
// where the second side is a prediction.
Section conditions_section(const TimelineComparison& comparison);

}  // namespace shardsim
