#include "sim/sweep/point_simulator.h"

#include <fmt/format.h>

#include <exception>
#include <new>

#include "sim/planning/prepared_case.h"

namespace shardsim {
namespace {

int world_size_of(const Case& item) {
  return item.cluster.nodes * item.cluster.gpu.count;
}

}  // namespace

PointSimulator::Kept& PointSimulator::kept_for(std::size_t point) {
  const std::vector<std::size_t> key = cases_.kept_key(point);
  if (const auto found = kept_.find(key); found != kept_.end()) return found->second;
  const Case base = cases_.kept_case(point);
  Plan plan = make_plan(base, cluster_of(base), sweep_.seed, {});
  return kept_.emplace(key, Kept{KeptPlan(std::move(plan)), world_size_of(base)}).first->second;
}

PointFigures PointSimulator::figures(const Case& item, std::size_t point) {
  if (!sweep_.keep_plan) return KeptPlan(make_plan(item, cluster_of(item), sweep_.seed, {})).figures(item);
  Kept& kept = kept_for(point);
  if (world_size_of(item) == kept.world_size) return kept.plan.figures(item);
  throw input_error(
      {},
      fmt::format("the kept plan was made for {} GPUs, but this point has {}", kept.world_size, world_size_of(item)),
      "Leave 'keep_plan' out if the number of GPUs changes");
}

PointResult PointSimulator::simulated(std::size_t point) {
  const Case item = cases_.at(point);
  const PointFigures figures = this->figures(item, point);
  PointResult result;
  result.world_size = world_size_of(item);
  result.batch_per_gpu = item.workload.batch_per_gpu;
  result.iteration_ms = figures.iteration_ms;
  result.samples_per_s = figures.samples_per_s;
  result.memory_bytes = figures.memory_bytes;
  result.memory_capacity = figures.memory_capacity;
  result.limited_by = figures.limit.what;
  result.limit_share = figures.limit.share;
  if (item.cluster.cost_per_gpu_hour) result.cost_per_hour = *item.cluster.cost_per_gpu_hour * result.world_size;
  return result;
}

PointResult PointSimulator::simulate(std::size_t point) {
  PointResult result;
  try {
    result = simulated(point);
  } catch (const Error& error) {
    using Outcome = PointResult::Outcome;
    result.outcome = error.failure() == Failure::infeasible ? Outcome::does_not_fit : Outcome::failed;
    result.message = error.what();
  } catch (const std::bad_alloc&) {
    result.outcome = PointResult::Outcome::failed;
    result.message = "out of memory";
  } catch (const std::exception& error) {
    result.outcome = PointResult::Outcome::failed;
    result.message = error.what();
  }
  result.point = static_cast<std::uint32_t>(point);
  return result;
}

}  // namespace shardsim
