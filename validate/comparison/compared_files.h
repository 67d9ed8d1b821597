#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/timeline/timeline_json.h"
#include "validate/comparison/comparison_report.h"

namespace shardsim {

// Timelines as they lie in a file or a folder, and what reading them had to note.
struct TimelineSource {
  std::string path;  // as given
  std::vector<NamedTimeline> cases;
  bool names_no_case = false;  // Kineto traces
  std::vector<std::string> notes;
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

}  // namespace shardsim
