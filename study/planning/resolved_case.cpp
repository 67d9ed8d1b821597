#include "study/planning/resolved_case.h"

#include <utility>

namespace shardsim {

Cluster cluster_of(const Case& item) {
  return item.job ? Cluster(item.cluster, item.job->nodes) : Cluster(item.cluster);
}

EngineOptions engine_options(const Case& item) {
  return {item.iterations, item.most_iterations, item.steady, item.algorithms};
}

ResolvedCase::ResolvedCase(const Case& of) : ResolvedCase(of, std::make_shared<const Cluster>(cluster_of(of))) {}

ResolvedCase::ResolvedCase(const Case& of, std::shared_ptr<const Cluster> on)
    : item(of), shared_(std::move(on)), cluster(*shared_) {}

const ComputeModel& ResolvedCase::compute() const {
  if (!compute_) compute_ = make_compute_model(item.compute_model);
  return *compute_;
}

const MemoryModel& ResolvedCase::memory() const {
  if (!memory_) memory_ = make_memory_model(item.memory_model);
  return *memory_;
}

std::unique_ptr<Network> ResolvedCase::network() const {
  return make_network(item.network);
}

std::unique_ptr<Network> ResolvedCase::uncontended() {
  return make_network(named_map("closed_form"));
}

std::unique_ptr<Network> ResolvedCase::repeatable_network() const {
  return runs_once(item.network) ? make_network(named_map("fair_queues")) : network();
}

std::vector<OpWork> ResolvedCase::works(const Program& program) const {
  return expand_ops(program, cluster, compute(), item.algorithms);
}

Seconds ResolvedCase::time(const Program& program, const std::vector<OpWork>& works, Network& network) const {
  return iteration_time(program, cluster, works, network, engine_options(item));
}

Seconds ResolvedCase::time(const Program& program, Network& network) const {
  return time(program, works(program), network);
}

SteadyIteration ResolvedCase::steady(const Program& program, const std::vector<OpWork>& works, Network& network) const {
  return steady_iteration(program, cluster, works, network, engine_options(item));
}

SteadyIteration ResolvedCase::steady(const Program& program) const {
  return steady(program, works(program), *network());
}

SimulationResult ResolvedCase::simulated(const Program& program, Network& network) const {
  return simulate_works(program, cluster, works(program), network, engine_options(item));
}

}  // namespace shardsim
