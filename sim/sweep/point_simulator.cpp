#include "sim/sweep/point_simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/packed.h"
#include "base/workers.h"
#include "plan/check.h"
#include "plan/memory_model.h"
#include "sim/engine/op_work.h"
#include "sim/planning/prepared_case.h"
#include "sim/study/drawn_batches.h"

namespace shardsim {
namespace {

struct SimulatedIteration {
  double iteration_ms = 0;
  std::string limited_by;
  double limit_share = 0;
};

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<SimulatedIteration> auto& iteration) {
  visit(iteration.iteration_ms, iteration.limited_by, iteration.limit_share);
}

SimulatedIteration iteration_of(const PreparedCase& prepared) {
  if (prepared.item.load.batches == LoadOptions::Batches::drawn) {
    const DrawnSimulation drawn = simulate_drawn(prepared, false);
    return {drawn.figures.iteration_ms.mean, drawn.nearest.busiest.what, drawn.nearest.busiest.share};
  }
  const SimulationResult result = simulate_case(prepared, prepared.program(), prepared.item.network);
  return {result.timeline.iteration_ms, result.busiest.what, result.busiest.share};
}

// SimGrid allows one engine in a process: there each point has one of its own.
SimulatedIteration isolated_iteration(const PreparedCase& prepared) {
  const Tree* const network = prepared.item.network.find("name");
  if (network == nullptr || network->scalar != "simgrid") return iteration_of(prepared);
  const auto simulated = [&] { return packed(iteration_of(prepared)); };
  return unpacked<SimulatedIteration>(run_in_workers({{prepared.item.name, simulated}}, {1, {}, {}}).front());
}

}  // namespace

const PointSimulator::KeptPlan& PointSimulator::kept_for(std::size_t point) {
  const std::vector<std::size_t> key = cases_.kept_key(point);
  if (const auto found = kept_.find(key); found != kept_.end()) return found->second;
  const Case base = cases_.kept_case(point);
  const Cluster cluster = cluster_of(base);
  return kept_[key] = {make_plan(base, cluster, sweep_.seed, {}), cluster.world_size()};
}

Plan PointSimulator::plan_for(const Case& item, const Cluster& cluster, std::size_t point) {
  if (!sweep_.keep_plan) return make_plan(item, cluster, sweep_.seed, {});
  const auto& [plan, world_size] = kept_for(point);
  try {
    if (cluster.world_size() != world_size)
      throw input_error(
          {}, fmt::format("the kept plan is one of {} GPUs, and there are {}", world_size, cluster.world_size()),
          "Leave 'keep_plan' out where the world changes");
    check_plan(plan, item.workload, cluster, item.place);
    check_memory(plan, item.workload, cluster, *make_memory_model(item.memory_model));
  } catch (const Error& error) {
    throw in_case(item, error);
  }
  return plan;
}

PointResult PointSimulator::simulated(std::size_t point) {
  const Case item = cases_.at(point);
  Scenario scenario;
  scenario.path = sweep_.path;
  scenario.seed = sweep_.seed;
  Cluster cluster = cluster_of(item);
  Plan plan = plan_for(item, cluster, point);
  const PreparedCase prepared(scenario, item, std::move(cluster), std::move(plan));

  PointResult result;
  result.world_size = prepared.cluster.world_size();
  result.batch_per_gpu = item.workload.batch_per_gpu;
  const auto memory = make_memory_model(item.memory_model);
  result.memory_bytes = std::ranges::max(memory_per_rank(prepared.plan, item.workload, prepared.cluster, *memory));
  result.memory_capacity = prepared.cluster.memory_per_rank().count;
  if (item.cluster.cost_per_gpu_hour) result.cost_per_hour = *item.cluster.cost_per_gpu_hour * result.world_size;
  const SimulatedIteration iteration = isolated_iteration(prepared);
  result.iteration_ms = iteration.iteration_ms;
  result.samples_per_s = static_cast<double>(result.world_size) * static_cast<double>(result.batch_per_gpu) /
                         (iteration.iteration_ms * 1e-3);
  result.limited_by = iteration.limited_by;
  result.limit_share = iteration.limit_share;
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
