#include <fmt/format.h>

#include <algorithm>

#include "base/document/cells.h"
#include "study/report/result_sheets.h"
#include "study/result/result_fields.h"

namespace shardsim {
namespace {

// The fastest plan on the same cluster that TorchRec has; null where there is none.
const CaseResult* fastest_of_torchrec(const WorkloadCases& group, const CaseResult& best) {
  const auto found = std::ranges::find_if(group.cases, [&](const CaseResult* item) {
    return item->beyond_torchrec.empty() && fits(*item) && item->cluster == best.cluster &&
           item->world_size == best.world_size;
  });
  return found == group.cases.end() ? nullptr : *found;
}

std::string remedy(const WorkloadCases& group, const CaseResult& best) {
  const CaseResult* const other = fastest_of_torchrec(group, best);
  const std::string option = "with --torchrec-only, planners keep to what TorchRec has";
  if (other == nullptr) return option;
  const std::string text = fmt::format("the fastest of these plans that it can run is {}, with {} ms", other->name,
                                       fixed(other->iteration_ms, decimals_for(other->iteration_ms)));
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

// What planners would do without --torchrec-only, where that is faster; "" where it is not.
std::string without_limit_text(const std::vector<WorkloadCases>& groups) {
  for (const WorkloadCases& group : groups) {
    const CaseResult* const best = fastest_that_fits(group);
    const auto free = std::ranges::find_if(
        group.cases, [](const CaseResult* each) { return is_without_limit(*each) && fits(*each); });
    if (free == group.cases.end() || (*free)->beyond_torchrec.empty()) continue;
    if (best != nullptr && best->iteration_ms <= (*free)->iteration_ms) continue;
    return fmt::format(
        "Without --torchrec-only the planner's plan takes {} ms ({}); it has {}, so TorchRec cannot run it.",
        fixed((*free)->iteration_ms, decimals_for((*free)->iteration_ms)), (*free)->name, (*free)->beyond_torchrec);
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
  const std::string instead = other == nullptr
                                  ? "--torchrec-only plans without"
                                  : fmt::format("of these it can run {}, {} ms", named(*other),
                                                fixed(other->iteration_ms, decimals_for(other->iteration_ms)));
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
