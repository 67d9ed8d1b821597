#pragma once

#include <memory>
#include <vector>

#include "models/compute/compute_model.h"
#include "plan/memory_model.h"
#include "program/program.h"
#include "sim/engine/engine.h"
#include "sim/engine/op_work.h"
#include "study/scenario/scenario.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// The cluster that the case runs on: of a job, its part of the fabric.
Cluster cluster_of(const Case& item);

EngineOptions engine_options(const Case& item);

// A case with the things that its trees name: the cluster, the models, the network. Models may read files, so each is
// made when it is first asked for, and once. Programs of the case are expanded and simulated here and nowhere else, so
// that whoever asks for a time of it is told the same one.
class ResolvedCase {
 public:
  explicit ResolvedCase(const Case& of);                            // on a cluster of its own
  ResolvedCase(const Case& of, std::shared_ptr<const Cluster> on);  // on one that other cases share

  const Case& item;  // which has to outlive this

 private:
  std::shared_ptr<const Cluster> shared_;

 public:
  const Cluster& cluster;

  std::shared_ptr<const Cluster> shared_cluster() const { return shared_; }
  const ComputeModel& compute() const;
  const MemoryModel& memory() const;
  std::unique_ptr<Network> network() const;             // the case's own
  static std::unique_ptr<Network> uncontended();        // the closed form
  std::unique_ptr<Network> repeatable_network() const;  // of the same times, for a process that has run the own one

  // The work of a Program's operations, one each, for the functions below.
  std::vector<OpWork> works(const Program& program) const;

  // Simulations of a Program of the case; errors are those of the engine (sim/engine/engine.h).
  Seconds time(const Program& program, const std::vector<OpWork>& works, Network& network) const;
  Seconds time(const Program& program, Network& network) const;
  SteadyIteration steady(const Program& program, const std::vector<OpWork>& works, Network& network) const;
  SteadyIteration steady(const Program& program) const;                        // on the case's own network
  SimulationResult simulated(const Program& program, Network& network) const;  // with every figure

 private:
  // Copies share what was made.
  mutable std::shared_ptr<const ComputeModel> compute_;
  mutable std::shared_ptr<const MemoryModel> memory_;
};

}  // namespace shardsim
