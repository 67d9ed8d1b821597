#include "validate/comparison/comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <string_view>

#include "base/files.h"
#include "base/read_files.h"
#include "base/text.h"
#include "program/timeline/kineto/kineto.h"
#include "program/timeline/timeline_file.h"

namespace shardsim {
namespace {

constexpr double kNanosecondInMs = 1e-6;

namespace fs = std::filesystem;

constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";

std::string first_bytes(const fs::path& path) {
  if (is_folder(path))
    throw input_error({path.string()}, "is a folder, not a timeline",
                      "Name a file; for a folder of Kineto traces write --observed-kineto DIR");
  std::ifstream in = open_to_read(path);
  std::string bytes(kHdf5Signature.size(), '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

const NamedTimeline* find_case(const TimelineSource& source, const std::string& name) {
  const auto found = std::find_if(source.cases.begin(), source.cases.end(),
                                  [&](const NamedTimeline& item) { return item.case_name == name; });
  return found == source.cases.end() ? nullptr : &*found;
}

void add_case(ComparisonReport& report, const TimelineSource& predicted, const NamedTimeline& ours,
              const TimelineSource& observed, const NamedTimeline& theirs) {
  const ComparedPair pair{ours.case_name, theirs.case_name, {predicted.path}, {observed.path}, observed.steps_ms};
  ComparedCase item{compare_timelines(ours.timeline, theirs.timeline, pair), ours.timeline, theirs.timeline};
  std::vector<std::string> notes = predicted.notes;
  notes.insert(notes.end(), observed.notes.begin(), observed.notes.end());
  if (!observed.names_no_case && ours.case_name != theirs.case_name)
    notes.push_back(fmt::format("the {} case is called {}", item.comparison.second, theirs.case_name));
  item.comparison.notes.insert(item.comparison.notes.begin(), notes.begin(), notes.end());
  report.cases.push_back(std::move(item));
}

const NamedTimeline& case_named(const TimelineSource& source, const std::string& name) {
  if (const NamedTimeline* found = find_case(source, name)) return *found;
  throw input_error({source.path}, "there is no case " + excerpt(name), known_names_hint(name, source.names()));
}

// The cases that the patterns fit, in the order of the file.
TimelineSource chosen_cases(const TimelineSource& source, const std::vector<std::string>& patterns) {
  const std::vector<std::string> names = source.names();
  std::set<std::size_t> chosen;
  for (const std::string& pattern : patterns) {
    const std::vector<std::size_t> fitting = fitting_names(names, pattern);
    if (fitting.empty()) case_named(source, pattern);  // which says what is known
    chosen.insert(fitting.begin(), fitting.end());
  }
  TimelineSource result{source.path, {}, source.names_no_case, source.notes};
  for (const std::size_t position : chosen) result.cases.push_back(source.cases[position]);
  return result;
}

// The cases of one name, and those of one side.
void add_all(ComparisonReport& report, const TimelineSource& predicted, const TimelineSource& observed) {
  for (const NamedTimeline& ours : predicted.cases) {
    const NamedTimeline* theirs = find_case(observed, ours.case_name);
    if (theirs == nullptr) {
      report.only_predicted.push_back(ours.case_name);
    } else {
      add_case(report, predicted, ours, observed, *theirs);
    }
  }
  for (const NamedTimeline& theirs : observed.cases)
    if (find_case(predicted, theirs.case_name) == nullptr) report.only_observed.push_back(theirs.case_name);
  if (!report.cases.empty()) return;
  throw input_error({observed.path},
                    fmt::format("the files have no case in common: {1} in {0}, {2} here", predicted.path,
                                join(predicted.names()), join(observed.names())),
                    "Name the predicted case with --case NAME");
}

// True of what the dense part of the other side may hold.
bool may_be_in_dense(std::string_view op_class) {
  return op_class == "dense" || is_communication(op_class);
}

std::optional<double> range_percent(double range, double median) {
  if (median <= 0) return std::nullopt;
  return 100 * range / median;
}

// "name: value; name: value", as machines tell (execute/devices/machine_facts.h), as rows.
void add_fact_rows(Sheet& sheet, std::string_view facts) {
  while (!facts.empty()) {
    const std::size_t end = std::min(facts.find("; "), facts.size());
    const std::string_view fact = facts.substr(0, end);
    facts.remove_prefix(std::min(end + 2, facts.size()));
    const std::size_t colon = fact.find(": ");
    if (colon == fact.npos) continue;
    sheet.rows.push_back({{std::string(fact.substr(0, colon)), std::string(fact.substr(colon + 2))}});
  }
}

}  // namespace

std::vector<std::string> TimelineSource::names() const {
  std::vector<std::string> names;
  for (const NamedTimeline& item : cases) names.push_back(item.case_name);
  return names;
}

std::vector<ComparedOperation> worst_operations(const TimelineComparison& comparison, std::size_t count) {
  std::vector<ComparedOperation> worst = comparison.operations;
  std::erase_if(worst, [&](const ComparedOperation& row) {
    return row.time.off_ms() < kNanosecondInMs || (comparison.others_in_dense && may_be_in_dense(row.op_class));
  });
  std::stable_sort(worst.begin(), worst.end(), [](const ComparedOperation& a, const ComparedOperation& b) {
    return a.telling_ms() > b.telling_ms();
  });
  if (worst.size() > count) worst.resize(count);
  return worst;
}

bool is_judged(const ComparedOperation& operation, bool is_class) {
  if (operation.share < kJudgedShare || operation.matched_by_class) return false;
  return is_class || is_communication(operation.op_class);
}

std::vector<std::string> outside_tolerance(const TimelineComparison& comparison, double tolerance_pct) {
  std::vector<std::string> outside;
  const auto judge = [&](const std::string& name, const ComparedTime& time) {
    const std::optional<double> error = time.error_pct();
    if (!error) {
      outside.push_back(fmt::format("{} {} at 0 ms", name, comparison.second));
    } else if (std::abs(*error) > tolerance_pct) {
      outside.push_back(fmt::format("{} {:+.1f} %", name, *error));
    }
  };
  judge("iteration", comparison.iteration);
  const auto counts = [&](std::string_view op_class) {
    return !comparison.others_in_dense || !may_be_in_dense(op_class);
  };
  for (const ComparedOperation& row : comparison.classes)
    if (is_judged(row, true) && counts(row.op_class)) judge(row.name, row.time);
  for (const ComparedOperation& row : comparison.operations)
    if (is_judged(row, false)) judge(row.name, row.time);
  for (const LoneOperation& lone : comparison.alone)
    if (lone.share >= kJudgedShare && counts(lone.op_class))
      outside.push_back(fmt::format("{} only {}", lone.name, lone.predicted ? comparison.first : comparison.second));
  return outside;
}

std::vector<std::string> ComparisonReport::outside() const {
  std::vector<std::string> all;
  if (!tolerance_pct) return all;
  for (const ComparedCase& item : cases)
    for (const std::string& phrase : outside_tolerance(item.comparison, *tolerance_pct))
      all.push_back(item.comparison.case_name + ": " + phrase);
  return all;
}

TimelineSource read_timeline_source(const fs::path& path) {
  TimelineSource source{path.string(), {}, false, {}};
  if (first_bytes(path) != kHdf5Signature) {
    source.cases.push_back(read_timeline_json(path));
    return source;
  }
  for (const std::string& name : timeline_cases(path)) source.cases.push_back({name, read_timeline(path, name)});
  if (source.cases.empty()) throw input_error({path.string()}, "holds no case", "Write it again");
  return source;
}

TimelineSource read_kineto_source(const fs::path& folder) {
  ObservedTraces traces = read_kineto_traces(folder);
  return {folder.string(),
          {{"kineto", std::move(traces.timeline)}},
          true,
          std::move(traces.notes),
          std::move(traces.steps_ms)};
}

ComparisonReport compare_sources(const TimelineSource& predicted, const TimelineSource& observed,
                                 const std::vector<std::string>& only) {
  ComparisonReport report;
  report.predicted = predicted.path;
  report.observed = observed.path;
  const bool one_observed = observed.cases.size() == 1;
  if (!only.empty()) {
    const TimelineSource chosen = chosen_cases(predicted, only);
    if (chosen.cases.size() > 1) {
      add_all(report, chosen, observed);
      report.only_observed.clear();  // nobody asked for them
      return report;
    }
    const NamedTimeline& ours = chosen.cases.front();
    const NamedTimeline* theirs = find_case(observed, ours.case_name);
    const NamedTimeline& partner =
        theirs == nullptr && one_observed ? observed.cases.front() : case_named(observed, ours.case_name);
    add_case(report, predicted, ours, observed, partner);
  } else if (one_observed && predicted.cases.size() == 1) {
    add_case(report, predicted, predicted.cases.front(), observed, observed.cases.front());
  } else {
    if (observed.names_no_case)
      throw input_error({predicted.path},
                        "the prediction has several cases, and traces do not say to which one they belong",
                        "Name it with --case: " + join(predicted.names()));
    add_all(report, predicted, observed);
  }
  return report;
}

ObservedSpread observed_spread(const TimelineComparison& comparison) {
  ObservedSpread spread;
  const Spread& iteration = comparison.iteration.observed_ms;
  if (comparison.iterations > 1) spread.iterations_pct = range_percent(iteration.max - iteration.min, iteration.median);
  if (comparison.ranks.size() < 2) return spread;
  const auto computing = [](const ComparedRank& rank) { return rank.compute.observed_ms.median; };
  const auto [least, most] = std::ranges::minmax_element(comparison.ranks, {}, computing);
  spread.ranks_pct = range_percent(computing(*most) - computing(*least), computing(*most));
  spread.least_rank = least->rank;
  spread.most_rank = most->rank;
  return spread;
}

std::string observed_on(const TimelineComparison& comparison) {
  const Timeline::Measured& measured = comparison.measured;
  std::string text =
      fmt::format("{}, {} {}", counted(static_cast<std::size_t>(comparison.world_size), "rank"),
                  counted(static_cast<std::size_t>(comparison.iterations), "iteration"),
                  comparison.second == "observed" ? "observed" : "in the " + comparison.second + " timeline");
  const auto add = [&](const char* lead, const std::string& fact) { text += fact.empty() ? "" : lead + fact; };
  add(" on ", measured.device);
  if (!measured.hosts.empty()) text += " (" + join(measured.hosts) + ")";
  add(", ", measured.transport);
  add(", NCCL ", measured.nccl);
  add(", CUDA ", measured.cuda);
  add(", driver ", measured.driver);
  return text + (comparison.complete ? "" : ", INCOMPLETE");
}

Section conditions_section(const TimelineComparison& comparison) {
  Sheet sheet;
  sheet.columns = {{"conditions of what was " + comparison.second, false}, {"", false}};
  if (comparison.second != "observed") return {};
  const ObservedSpread spread = observed_spread(comparison);
  if (spread.iterations_pct)
    sheet.rows.push_back({{"spread from iteration to iteration", fmt::format("{:.1f} %", *spread.iterations_pct)}});
  if (spread.ranks_pct)
    sheet.rows.push_back({{"spread of computing from rank to rank",
                           fmt::format("{:.1f} % (least on rank {}, most on rank {})", *spread.ranks_pct,
                                       spread.least_rank, spread.most_rank)}});
  const Timeline::Measured& measured = comparison.measured;
  if (measured.clock_residual_us > 0 || measured.clock_drift_us > 0)
    sheet.rows.push_back({{"clocks of two nodes", fmt::format("off each other by at most {:.3g} us, drifted {:.3g} us",
                                                              measured.clock_residual_us, measured.clock_drift_us)}});
  add_fact_rows(sheet, measured.more);
  Section section = table_section("Conditions", "", std::move(sheet));
  section.style = Section::Heading::page_only;
  return section;
}

}  // namespace shardsim
