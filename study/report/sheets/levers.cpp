#include "study/report/sheets/levers.h"

#include <fmt/format.h>

#include "base/document/cells.h"
#include "study/report/case_groups.h"

namespace shardsim {
namespace {

constexpr double kTellingLever = 10;  // % of the iteration: what is worth a sentence of advice

std::string deduplication_lever(const CaseResult& item, const std::string& name) {
  if (!item.iteration_ms_without_duplicates) return "";
  const double with = *item.iteration_ms_without_duplicates, saved = 100 * (1 - with / item.iteration_ms);
  if (saved < kTellingLever) return "";
  return fmt::format(
      "With 'index_dedup: true' in the workload, an option of TorchRec's sequence modules, {} would take {} ms, {:.0f} "
      "% less.",
      name, fixed(with, decimals_for(with)), saved);
}

std::string host_lever(const CaseResult& item, const std::string& name) {
  if (!item.host || !waits_for_eager_host(item)) return "";
  return fmt::format(
      "For {:.0f} % of {} a GPU waits for its host: no machine and no plan helps as much as '--set software={}' may.",
      waiting_percent(item), name, item.host->with_graph);
}

}  // namespace

double waiting_percent(const CaseResult& item) {
  return item.timeline.iteration_ms > 0 ? 100 * item.host->waits_for_host_ms / item.timeline.iteration_ms : 0;
}

bool waits_for_eager_host(const CaseResult& item) {
  return !item.host->with_graph.empty() && waiting_percent(item) >= kTellingLever;
}

std::string levers_text(const StudyResult& study) {
  const std::vector<WorkloadCases> groups = by_workload(study);
  if (groups.empty()) return "";
  const CaseResult* const best = fastest_that_fits(groups.front());
  if (best == nullptr) return "";
  const std::string name = study.cases.size() == 1 ? "the iteration" : best->name;
  const std::string ids = deduplication_lever(*best, name), host = host_lever(*best, name);
  return ids.empty() || host.empty() ? ids + host : ids + " " + host;
}

}  // namespace shardsim
