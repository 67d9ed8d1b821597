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
  return best.name.ends_with("/beyond_torchrec") ? text : text + "; " + option;
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

}  // namespace

std::string short_torchrec_warning(const StudyResult& study) {
  const std::vector<WorkloadCases> groups = by_workload(study);
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
