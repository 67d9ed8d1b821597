#include "plan/placement_load.h"

#include <algorithm>
#include <utility>

namespace shardsim {
std::optional<TableSeconds> seconds_by_tables(const LoadStep& step, const ComputeModel& compute, const GpuSpec& gpu) {
  const auto is_above = [](double amount) { return amount > 0; };
  if (step.tables.empty() || std::ranges::any_of(step.host_seconds, is_above)) return std::nullopt;
  ComputeWork work = step.work;
  work.hbm_bytes = step.hbm_bytes.front();
  work.lookups = step.lookups.front();
  work.sorted_update = work.kind == ComputeWork::Kind::update;
  const auto seconds_of = [&](std::vector<TableWork> tables) {
    work.tables = std::move(tables);
    return compute.seconds(work, gpu).value;
  };
  TableWork idle = step.tables.front();
  idle.bags = idle.lookups = 0;
  idle.reuse = {};
  const double alone = seconds_of(step.tables);
  // A table costs something by being there: what the second one adds is not the call's.
  const double call = 2 * seconds_of({idle}) - seconds_of({idle, idle});
  return TableSeconds{call, std::max(alone - call, 0.0)};
}

Seconds step_seconds(const LoadStep& step, std::size_t rank, const ComputeModel& compute, const GpuSpec& gpu) {
  ComputeWork work = step.work;
  work.hbm_bytes = amount_at(step.hbm_bytes, rank);
  work.lookups = amount_at(step.lookups, rank);
  work.host_link = {amount_at(step.host_seconds, rank)};
  work.sorted_update = step.work.kind == ComputeWork::Kind::update && work.lookups > 0;
  return compute.seconds(work, gpu);
}

}  // namespace shardsim
