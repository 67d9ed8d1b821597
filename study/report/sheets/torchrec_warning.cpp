#include <fmt/format.h>

#include <algorithm>

#include "base/document/cells.h"
#include "study/report/case_groups.h"
#include "study/report/sheets/result_sheets.h"
#include "study/result/case_figures.h"

namespace shardsim {
namespace {

constexpr double kTellingDedup = 0.01;  // of an iteration

// The fastest plan for the same batch on the same cluster that TorchRec has; null where there is none.
const CaseResult* fastest_of_torchrec(const WorkloadCases& group, const CaseResult& best) {
  const auto found = std::ranges::find_if(group.cases, [&](const CaseResult* item) {
    return item->beyond_torchrec.empty() && fits(*item) && differ_in_plans_alone(*item, best);
  });
  return found == group.cases.end() ? nullptr : *found;
}

std::string milliseconds_of(double ms) {
  return fixed(ms, decimals_for(ms));
}

// True where index_dedup makes the case tellingly faster with its plan.
bool gains_by_dedup(const CaseResult& item) {
  const auto& with = item.iteration_ms_without_duplicates;
  return with && *with <= (1 - kTellingDedup) * item.iteration_ms;
}

// Of the plans that TorchRec has for the same question, the one that is tellingly faster than `other` where each has
// index_dedup if that is faster with it; null where none is.
const CaseResult* first_with_dedup(const WorkloadCases& group, const CaseResult& other) {
  const CaseResult* first = &other;
  for (const CaseResult* const item : group.cases)
    if (item->beyond_torchrec.empty() && fits(*item) && differ_in_plans_alone(*item, other) &&
        fair_ms(*item) < (1 - kTellingDedup) * fair_ms(*first))
      first = item;
  return first == &other ? nullptr : first;
}

// " (with index_dedup 200.0, and flexshard_2tier 250.0; then row_wise is the fastest of these: 150.0)": a factor over
// TorchRec's plan is none where an option of TorchRec takes it away, and the plan to take with the option may be
// another one. Each has the option where it is faster with it; "" where none of TorchRec's is.
std::string with_dedup(const WorkloadCases& group, const CaseResult& other, const CaseResult& best, const auto& named) {
  std::vector<std::string> parts;
  const CaseResult* const first = first_with_dedup(group, other);
  if (gains_by_dedup(other)) parts.push_back(milliseconds_of(*other.iteration_ms_without_duplicates));
  if (gains_by_dedup(best) && (first != nullptr || !parts.empty()))
    parts.push_back(fmt::format("{}{} {}", parts.empty() ? "" : "and ", named(best), milliseconds_of(fair_ms(best))));
  std::string text = join(parts, ", ");
  if (first != nullptr)
    text += fmt::format("{}{} is the fastest of these: {}", parts.empty() ? "" : "; then ", named(*first),
                        milliseconds_of(fair_ms(*first)));
  return text.empty() ? "" : fmt::format(" (with index_dedup {})", text);
}

const std::string& whole_name(const CaseResult& item) {
  return item.name;
}

std::string remedy(const WorkloadCases& group, const CaseResult& best) {
  const CaseResult* const other = fastest_of_torchrec(group, best);
  const std::string option = "with --torchrec-only, planners keep to what TorchRec has";
  if (other == nullptr) return option;
  const std::string text =
      fmt::format("the fastest of these plans that it can run is {}, with {} ms{}", other->name,
                  milliseconds_of(other->iteration_ms), with_dedup(group, *other, best, whole_name));
  return text + "; " + option;
}

// The fastest plan of each workload where TorchRec cannot run it.
std::vector<std::pair<const WorkloadCases*, const CaseResult*>> beyond_torchrec(
    const std::vector<WorkloadCases>& groups) {
  std::vector<std::pair<const WorkloadCases*, const CaseResult*>> found;
  for (const WorkloadCases& group : groups)
    if (const CaseResult* const best = fastest_that_fits(group); best != nullptr && !best->beyond_torchrec.empty())
      found.emplace_back(&group, best);
  return found;
}

// True for a plan beyond TorchRec's limits that is faster than all within them that answer the same question.
bool gains_without_limit(const WorkloadCases& group, const CaseResult& free) {
  if (!is_without_limit(free) || !fits(free) || free.beyond_torchrec.empty()) return false;
  return std::ranges::none_of(group.cases, [&](const CaseResult* each) {
    return !is_without_limit(*each) && fits(*each) && differ_in_plans_alone(*each, free) &&
           each->iteration_ms <= free.iteration_ms;
  });
}

// Says what planners would do without --torchrec-only, where that is faster; "" where it is not.
std::string without_limit_text(const std::vector<WorkloadCases>& groups) {
  for (const WorkloadCases& group : groups) {
    const auto free =
        std::ranges::find_if(group.cases, [&](const CaseResult* each) { return gains_without_limit(group, *each); });
    if (free == group.cases.end()) continue;
    return fmt::format(
        "Without --torchrec-only the planner's plan takes {} ms ({}); it has {}, so TorchRec cannot run it.",
        milliseconds_of((*free)->iteration_ms), (*free)->name, (*free)->beyond_torchrec);
  }
  return "";
}

}  // namespace

std::string short_torchrec_warning(const StudyResult& study) {
  const std::vector<WorkloadCases> groups = by_workload(study);
  if (std::string text = without_limit_text(groups); !text.empty()) return text;
  const auto found = beyond_torchrec(groups);
  if (found.empty()) return "";
  const auto& [group, best] = found.front();
  const CaseResult* const other = fastest_of_torchrec(*group, *best);
  const auto named = [&](const CaseResult& item) { return groups.size() == 1 ? short_name(item) : item.name; };
  const std::string more = found.size() == 1 ? "" : fmt::format(", nor {} more", found.size() - 1);
  const std::string instead =
      other == nullptr ? "--torchrec-only plans without"
                       : fmt::format("of these it can run {}, {} ms{}", named(*other),
                                     milliseconds_of(other->iteration_ms), with_dedup(*group, *other, *best, named));
  return fmt::format("TorchRec cannot run {}, which has {}{}; {}.", named(*best), best->beyond_torchrec, more, instead);
}

std::string torchrec_warning(const StudyResult& study) {
  std::vector<std::string> others;
  std::string first;
  const std::vector<WorkloadCases> groups = by_workload(study);
  if (std::string text = without_limit_text(groups); !text.empty()) return text;
  for (const auto& [group, best] : beyond_torchrec(groups)) {
    if (first.empty()) {
      first = fmt::format("TorchRec cannot run the fastest plan, {}, because it has {}: {}.", best->name,
                          best->beyond_torchrec, remedy(*group, *best));
    } else {
      others.push_back(best->name);
    }
  }
  if (others.empty()) return first;
  return first + fmt::format(" The same holds for {}.", some_names(others));
}

}  // namespace shardsim
