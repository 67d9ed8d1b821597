#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/collective/collective.h"
#include "models/compute/compute_model.h"
#include "sim/program/program.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// An operation with what the engine needs of it: how long it computes on each rank, or what it loads on which link.
struct OpWork {
  // One group of a collective; all groups of an operation run side by side.
  struct Call {
    std::vector<int> ranks;
    CollectiveLoads loads;
    std::vector<std::int64_t> payload;  // [member] larger of bytes sent and received, own chunk included
  };

  std::vector<double> seconds;  // compute: [rank], below 0 where the rank takes no part
  std::vector<Call> calls;      // collective
  Seconds alone;                // of the slowest rank or call, when nothing else runs

  bool is_collective() const { return !calls.empty(); }
};

// What a compute operation asks of the device of the rank at this position of its ranks.
ComputeWork work_of(const Op& op, std::size_t position, const ClusterSpec& spec);

// One OpWork per operation. `algorithms`: collective kind -> algorithm; absent kinds take "auto".
std::vector<OpWork> expand_ops(const Program& program, const Cluster& cluster, const ComputeModel& compute,
                               const std::map<std::string, std::string>& algorithms);

}  // namespace shardsim
