#pragma once

#include <cstddef>

#include "base/tree.h"
#include "models/workload/workload.h"
#include "plan/torchrec/bridge/planner_options.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// The scenario's key `cross_check`: lay TorchRec's estimates beside the simulation.
struct CrossCheckOptions {
  Place place;
  std::size_t worst = 5;               // plans to explain
  torchrec::TopologyOptions topology;  // rates of the same cluster by default

  // What the estimates of a case are made of.
  torchrec::PlannerRequest request(const Workload& workload, const Cluster& cluster) const;
};

// Errors: Failure::input for unknown keys and impossible values.
CrossCheckOptions read_cross_check(const Tree& map);

}  // namespace shardsim
