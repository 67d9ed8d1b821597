#pragma once

#include <vector>

#include "plan/torchrec/estimate/sharding_option.h"

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

// Options of each table, tables in order of first appearance.
std::vector<Proposal> options_by_table(const std::vector<ShardingOption>& options);

// Ascending by the slowest shard (use_depth) or by the sum over shards; equal ones keep their order.
void sort_by_score(Proposal& options, bool use_depth);

Storage total_storage(const Proposal& proposal);

}  // namespace shardsim::torchrec
