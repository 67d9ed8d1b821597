#pragma once

#include <optional>
#include <vector>

#include "plan/torchrec/estimate/sharding_option.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

// All options of all tables, in the order of the enumerator; options of one table lie together.
struct SearchSpace {
  std::vector<TableSpec> tables;
  std::vector<ShardingOption> options;

  const TableSpec& table_of(const ShardingOption& option) const {
    return tables[static_cast<std::size_t>(option.table)];
  }
};

// One option per table, in the proposer's order of tables. Points into a search space, or into its proposer.
using Proposal = std::vector<const ShardingOption*>;

Proposal proposal_of(const std::vector<ShardingOption>& options);

// Options of each table, tables in order of first appearance.
std::vector<Proposal> options_by_table(const Proposal& options);

// Ascending by the slowest shard (use_depth) or by the sum over shards; equal ones keep their order.
void sort_by_score(Proposal& options, bool use_depth);

// The choices that a user allows a table; an empty list allows the usual ones.
struct TableConstraints {
  std::vector<ShardingType> sharding_types;
  std::vector<ComputeKernel> compute_kernels;
  std::optional<Device> device_group;
  Place place;  // where they were written; may be empty
};

// The lists that a sharder offers instead of TorchRec's own; data_parallel always has the dense kernel.
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
std::vector<ComputeKernel> sharder_kernels(ShardingType type, Device device, PlannerVersion version);

// Every allowed option of every table, estimated (planner/enumerators.py). Tables of another device group are left out.
// Errors: PlannerError: a table without an option (runtime_error), named (Failure::input where its constraints have a
// place); sequence tables of different dimensions (other); what `estimate_option` refuses.
SearchSpace enumerate_options(const std::vector<ConstrainedTable>& tables, const SharderLists& lists,
                              const Topology& topology, const EstimateSettings& settings);

}  // namespace shardsim::torchrec
