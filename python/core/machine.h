#pragma once

#include <cstdint>
#include <string>

#include "plan/torchrec/spec/topology.h"
#include "python/core/request.h"

namespace shardsim::python {

// The cluster of a case as TorchRec's planner takes a machine: its ranks, capacities and rates, and what a collective
// takes on it. Of 2D parallelism it is the part of one sharding group.
class Machine {
 public:
  // Errors: those of chosen_case(), of the cluster, and of the planner's options where the case's is TorchRec's.
  Machine(const Request& request, const std::string& case_name);

  // The rates and capacities of the cluster, and what `topology` of the case's planner states in their place.
  const torchrec::Topology& topology() const { return topology_; }
  // Bytes of vectors that a rank gets for its batch, which is what it sends where tables are spread evenly.
  std::int64_t exchange_bytes() const { return exchange_bytes_; }
  // Milliseconds of a collective alone among `ranks`, `per_host` of them in each host, while the other GPUs of these
  // hosts do the same in groups of their own. `bytes` as nccl-tests counts them. Errors (Failure::input): an unknown
  // kind; ranks that do not divide by the hosts; more than the machine has.
  double collective_ms(const std::string& kind, int per_host, int ranks, std::int64_t bytes) const;

 private:
  explicit Machine(const Case& item);
  int host_size() const { return topology_.local_world_size; }

  Cluster cluster_;
  torchrec::Topology topology_;
  std::int64_t exchange_bytes_ = 0;
};

}  // namespace shardsim::python
