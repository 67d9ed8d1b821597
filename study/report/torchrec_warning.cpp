#include <fmt/format.h>

#include <algorithm>

#include "base/document/cells.h"
#include "study/report/result_sheets.h"
#include "study/result/result_fields.h"

namespace shardsim {
namespace {

// The fastest of a workload, of the plans that fit; null where none does.
const CaseResult* fastest(const WorkloadCases& group) {
  const auto found = std::ranges::find_if(group.cases, [](const CaseResult* item) { return fits(*item); });
  return found == group.cases.end() ? nullptr : *found;
}

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

}  // namespace

std::string torchrec_warning(const StudyResult& study) {
  std::vector<std::string> others;
  std::string first;
  for (const WorkloadCases& group : by_workload(study)) {
    const CaseResult* const best = fastest(group);
    if (best == nullptr || best->beyond_torchrec.empty()) continue;
    if (first.empty()) {
      first = fmt::format("TorchRec cannot run the fastest plan, {}, because it has {}: {}.", best->name,
                          best->beyond_torchrec, remedy(group, *best));
    } else {
      others.push_back(best->name);
    }
  }
  if (others.empty()) return first;
  return first + fmt::format(" The same holds for {}.", some_names(others));
}

}  // namespace shardsim
