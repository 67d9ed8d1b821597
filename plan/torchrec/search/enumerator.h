#pragma once

#include <optional>
#include <vector>

#include "plan/torchrec/search/search_space.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

// What a user allows a table; an empty list allows what is usual.
struct TableConstraints {
  std::vector<ShardingType> sharding_types;
  std::vector<ComputeKernel> compute_kernels;
  std::optional<Device> device_group;
  Place place;  // where they were written; may be empty
};

// What a sharder offers instead of TorchRec's own lists; data_parallel always has the dense kernel.
struct SharderLists {
  std::optional<std::vector<ShardingType>> types;
  std::optional<std::vector<ComputeKernel>> kernels;
};

struct ConstrainedTable {
  TableSpec table;
  TableConstraints constraints;
};

// TorchRec's own lists for collections of pooled or of sequence embeddings, in its order.
std::vector<ShardingType> sharder_types(bool pooled, Device device);
std::vector<ComputeKernel> sharder_kernels(ShardingType type, Device device);

// Every allowed option of every table, estimated (planner/enumerators.py). Tables of another device group are left out.
// Errors: PlannerError (other): a table without an option, named (Failure::input where its constraints have a place);
// sequence tables of different dimensions.
SearchSpace enumerate_options(const std::vector<ConstrainedTable>& tables, const SharderLists& lists,
                              const Topology& topology, const EstimateSettings& settings);

}  // namespace shardsim::torchrec
