#include "study/report/sheets/result_sheets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/document/cells.h"
#include "base/text.h"
#include "program/program.h"
#include "study/report/case_groups.h"
#include "study/report/sheets/how_sure.h"
#include "study/report/wording.h"
#include "study/result/case_figures.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

// "8", or "1 to 16" where the cases differ.
template <typename Number>
std::string span_of(const WorkloadCases& group, Number CaseResult::*number) {
  const auto by_number = [&](const CaseResult* a, const CaseResult* b) { return a->*number < b->*number; };
  const auto [least, most] = std::minmax_element(group.cases.begin(), group.cases.end(), by_number);
  const std::string first = with_thousands((*least)->*number), last = with_thousands((*most)->*number);
  return first == last ? first : first + " to " + last;
}

constexpr std::size_t kFewClusters = 2;  // that a heading names

std::string clusters_of(const WorkloadCases& group, Medium medium) {
  std::vector<std::string> names;
  for (const CaseResult* const item : group.cases) {
    if (std::find(names.begin(), names.end(), item->cluster) == names.end()) names.push_back(item->cluster);
  }
  if (medium == Medium::page || names.size() <= kFewClusters + 1) return join(names);
  return first_names(names, kFewClusters);
}

std::string high_water(const CaseResult& item) {
  const MemoryProfile& profile = item.memory_profile;
  if (profile.ranks.empty()) return "-";
  return fixed(static_cast<double>(profile.highest().bytes()) / kGiB, 2);
}

std::string workload_heading(const WorkloadCases& group, Medium medium) {
  const CaseResult& first = *group.cases.front();
  const std::string gpus = span_of(group, &CaseResult::world_size);
  return fmt::format("{} on {}: {} GPU{}, batch {} per GPU", first.workload.empty() ? "workload" : first.workload,
                     clusters_of(group, medium), gpus, gpus == "1" ? "" : "s",
                     span_of(group, &CaseResult::batch_per_gpu));
}

Sheet::Row case_row(const CaseResult& item, const std::optional<double>& speed, int places) {
  return {{short_name(item), fixed(item.iteration_ms, places), item.interval ? interval_cell(*item.interval) : "-",
           fixed(item.estimate_iteration_ms, places), grouped(item.samples_per_s),
           speed ? fmt::format("{:.2f}x", *speed) : "-", fixed(largest_memory(item) / kGiB, 2), high_water(item),
           fixed(static_cast<double>(item.memory_capacity) / kGiB, 1), item.limit.what.empty() ? "-" : item.limit.what,
           fixed(100 * item.limit.share, 0)},
          false};
}

constexpr int kBriefDecimals = 3;  // long lists hold short iterations and long ones

bool is_brief(const StudyResult& study, Medium medium) {
  return medium == Medium::terminal && has_very_many_cases(study);
}

// The chance that the fastest of those that a case can be chosen from is faster than this one.
std::string first_is_faster_cell(const CaseResult& item, const StudyResult& study) {
  for (const Choice& choice : study.choices) {
    if (choice.chosen == item.name) return "";
    const auto found = std::ranges::find(choice.others, item.name, &Choice::Other::name);
    if (found != choice.others.end()) return other_cell(study, choice, *found);
  }
  return "-";
}

// Shows what somebody who chooses among the cases looks at first.
Sheet::Row screen_row(const CaseResult& item, int places) {
  const MemoryProfile& profile = item.memory_profile;
  const double bytes = profile.ranks.empty() ? largest_memory(item) : static_cast<double>(profile.highest().bytes());
  return {{short_name(item), fixed(item.iteration_ms, places), item.interval ? interval_cell(*item.interval) : "-",
           grouped(item.samples_per_s), fixed(bytes / kGiB, 2),
           fixed((static_cast<double>(item.memory_capacity) - bytes) / kGiB, 2),
           item.limit.what.empty() ? "-" : unit_in_short(item.limit.what), fixed(100 * item.limit.share, 0)},
          false};
}

// True when cases of one workload differ in their number of GPUs, and their times are no like for like.
bool has_unlike_sizes(const StudyResult& study) {
  return std::ranges::any_of(by_workload(study), [](const WorkloadCases& group) {
    return std::ranges::any_of(
        group.cases, [&](const CaseResult* item) { return item->world_size != group.cases.front()->world_size; });
  });
}

Sheet screen_sheet(const StudyResult& study) {
  const bool chosen = !study.choices.empty(), sizes = has_unlike_sizes(study);
  Sheet sheet;
  // A narrow line keeps how sure the time is and what limits it; what follows from the time or from what is free goes.
  sheet.columns = {{"case", false, true},
                   {"ms"},
                   {"80 % within"},
                   {"samples/s", true, false, true},
                   {"peak GiB", true, false, true},
                   {"free"},
                   {"busiest", false, false, true},
                   {"%", true, false, true}};
  if (chosen) sheet.columns.push_back({"1st faster %"});
  if (sizes) sheet.columns.insert(sheet.columns.begin() + 1, {"GPUs"});
  const int places = has_very_many_cases(study) ? kBriefDecimals : decimals_for(longest_iteration_ms(study));
  for (const WorkloadCases& group : by_workload(study)) {
    sheet.rows.push_back({{workload_heading(group, Medium::terminal)}, false});
    for (const CaseResult* item : group.cases) {
      sheet.rows.push_back(screen_row(*item, places));
      std::vector<std::string>& cells = sheet.rows.back().cells;
      if (sizes) cells.insert(cells.begin() + 1, grouped(item->world_size));
      if (chosen) sheet.rows.back().cells.push_back(first_is_faster_cell(*item, study));
    }
  }
  return sheet;
}

// The figures that matter beside each other in a long list: there is room for the whole name.
Sheet::Row brief_case_row(const CaseResult& item, int places) {
  return {{short_name(item), fixed(item.iteration_ms, places), grouped(item.samples_per_s),
           fixed(largest_memory(item) / kGiB, 1), item.limit.what.empty() ? "-" : item.limit.what,
           fixed(100 * item.limit.share, 0)},
          false};
}

// "0-3", or the nodes one by one while they are few.
std::string nodes_text(const std::vector<int>& nodes) {
  constexpr std::size_t kFew = 4;
  const std::string range = rank_set_text(nodes);
  if (!range.empty() && (nodes.size() > kFew || range.find(':') == std::string::npos)) return range;
  std::string text;
  for (std::size_t i = 0; i < std::min(nodes.size(), kFew); ++i) text += (i == 0 ? "" : " ") + std::to_string(nodes[i]);
  return nodes.size() > kFew ? fmt::format("{} ... ({})", text, nodes.size()) : text;
}

Sheet::Row job_row(const CaseResult& item, int places) {
  const JobFigures& job = *item.job;
  const double slowdown = job.slowdown_pct(item.iteration_ms);
  return {{item.name, nodes_text(job.nodes), fixed(job.start_ms, places), fixed(job.alone_ms, places),
           fixed(item.iteration_ms, places), std::abs(slowdown) < 0.05 ? "0.0" : fmt::format("{:+.1f}", slowdown)},
          false};
}

}  // namespace

namespace {

void leave_out(Sheet& sheet, std::string_view header) {
  const auto column = std::ranges::find(sheet.columns, header, &Sheet::Column::header) - sheet.columns.begin();
  for (Sheet::Row& row : sheet.rows)
    if (!row.is_heading(sheet)) row.cells.erase(row.cells.begin() + column);
  sheet.columns.erase(sheet.columns.begin() + column);
}

}  // namespace

Sheet cases_sheet(const StudyResult& study, Medium medium) {
  if (medium == Medium::screen) return screen_sheet(study);
  const bool brief = is_brief(study, medium);
  const bool minor = medium == Medium::page;  // a narrow one keeps the time and its range
  Sheet sheet;
  sheet.columns = {{"case", false, true},
                   {"iteration ms"},
                   {"80 % within"},
                   {"est. ms", true, false, minor},
                   {"samples/s", true, false, true},
                   {"speed", true, false, minor},
                   {"GiB", true, false, minor},
                   {"peak", true, false, true},
                   {"of", true, false, true},
                   {"busiest", false, false, minor},
                   {"%", true, false, minor}};
  if (brief) sheet.columns = {{"case", false, true}, {"ms"}, {"samples/s"}, {"GiB"}, {"busiest", false}, {"%"}};
  const int places = brief ? kBriefDecimals : decimals_for(longest_iteration_ms(study));
  for (const WorkloadCases& group : by_workload(study)) {
    sheet.rows.push_back({{workload_heading(group, medium)}, false});
    for (const CaseResult* item : group.cases) {
      sheet.rows.push_back(brief ? brief_case_row(*item, places)
                                 : case_row(*item, speed_of(*item, group, study), places));
    }
  }
  if (!brief && medium == Medium::terminal) leave_out(sheet, "est. ms");  // which a page has room for
  return sheet;
}

namespace {

// Links go by their names in timeline.h5; the first one in words says how to read them all.
std::string limit_legend(const StudyResult& study) {
  std::string example;
  for (const CaseResult& item : study.cases) {
    const std::string words = unit_in_words(item.limit.what);
    if (words == item.limit.what) continue;
    example = fmt::format(" ({}: {})", item.limit.what, words);
    break;
  }
  return fmt::format(
      "busiest: the link or unit that is busy most of the time{}, and for how many % of it; what an iteration waits "
      "for, 'shardsim why' says.",
      example);
}

// Launches are shown as the limit only where they are (limiting_rank() of sim/engine/engine.h).
std::string host_legend(const StudyResult& study) {
  const bool some_launch = std::ranges::any_of(
      study.cases, [](const CaseResult& item) { return item.limit.what.ends_with(" " + std::string(kLaunchStream)); });
  return some_launch ? " launch: the GPU waits for the host." : "";
}

}  // namespace

std::string reserve_text(const StudyResult& study) {
  std::set<std::int64_t> reserves;
  for (const CaseResult& item : study.cases) reserves.insert(item.memory_reserved);
  if (reserves.empty() || *reserves.rbegin() == 0) return "";
  const auto gib = [](std::int64_t bytes) { return fmt::format("{:.3g}", static_cast<double>(bytes) / kGiB); };
  const std::string amount =
      reserves.size() == 1 ? gib(*reserves.begin()) : gib(*reserves.begin()) + " to " + gib(*reserves.rbegin());
  return fmt::format(" {} GiB of each GPU are reserved for the CUDA context, NCCL and the like (gpu.reserved).",
                     amount);
}

std::string cases_legend(const StudyResult& study, Medium medium) {
  if (is_brief(study, medium))
    return std::string("ms: time of an iteration. GiB: memory of the fullest GPU by the memory model. ") +
           limit_legend(study) + host_legend(study) +
           " The report shows more of each case: how certain its time is, the estimate without contention, speeds, and "
           "the simulated peak of memory.";
  const auto names_one = [](const CaseResult& item) { return !item.relative_to.empty(); };
  const bool named = std::any_of(study.cases.begin(), study.cases.end(), names_one);
  const std::vector<WorkloadCases> groups = by_workload(study);
  const bool one_choice = std::all_of(groups.begin(), groups.end(), is_one_choice);
  return fmt::format(
      "80 % within{} {}speed: {}compared with the {}slowest case of the workload{}. {}GiB: memory of the fullest "
      "GPU by the memory model; peak: at the simulated peak; of: capacity of the GPU{}. {}{}",
      kIntervalLegend, medium == Medium::page ? "est.: the closed form, without contention. " : "",
      one_choice ? "" : "samples/s ", named ? "case that relative_to names, else the " : "",
      std::ranges::all_of(study.cases, [](const CaseResult& each) { return fits(each); }) ? "" : " that fits in memory",
      one_choice ? ""
                 : "If the cases of a workload differ in GPUs, cluster or batch, compare their samples/s, because "
                   "their iterations do different amounts of work. A speed is given only if relative_to asks for it or "
                   "only the plan differs. ",
      reserve_text(study).empty() ? "" : ", less what is reserved", limit_legend(study), host_legend(study));
}

Section jobs_section(const StudyResult& study) {
  Sheet sheet;
  sheet.columns = {{"job", false}, {"nodes"}, {"start ms"}, {"alone ms"}, {"side by side ms"}, {"slower %"}};
  const int places = decimals_for(longest_iteration_ms(study));
  std::string fabric;
  for (const CaseResult& item : study.cases) {
    if (!item.job) continue;
    if (item.job->fabric != fabric) sheet.rows.push_back({{item.job->fabric + " on " + item.cluster}, false});
    fabric = item.job->fabric;
    sheet.rows.push_back(job_row(item, places));
  }
  return table_section("Jobs side by side",
                       "Jobs run at the same time on one fabric, each on its own nodes. alone: an iteration if no "
                       "other job runs. side by side: the mean iteration while the others run.",
                       sheet);
}

}  // namespace shardsim
