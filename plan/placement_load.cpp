#include "plan/placement_load.h"

namespace shardsim {
namespace {

double amount_at(const std::vector<double>& amounts, std::size_t rank) {
  if (amounts.empty()) return 0;
  return amounts.size() == 1 ? amounts.front() : amounts[rank];
}

}  // namespace

Seconds step_seconds(const LoadStep& step, std::size_t rank, const ComputeModel& compute, const GpuSpec& gpu) {
  ComputeWork work = step.work;
  work.hbm_bytes = amount_at(step.hbm_bytes, rank);
  work.lookups = amount_at(step.lookups, rank);
  work.host_link = {amount_at(step.host_seconds, rank)};
  work.sorted_update = step.work.kind == ComputeWork::Kind::update && work.lookups > 0;
  return compute.seconds(work, gpu);
}

}  // namespace shardsim
