#pragma once

#include <optional>
#include <string>

#include "base/rng.h"
#include "plan/torchrec/search/partitioner.h"

namespace shardsim::torchrec {

// One option per table, in the order of the search space, and ranks for its shards.
struct Draw {
  std::vector<ShardingOption> options;
  Assignment assignment;
};

// Draws plans that TorchRec's rules of placement allow: evenly spread types on all ranks, table_row_wise and
// table_column_wise inside one host, a block of grid_shard on one host each, all other shards on any rank.
//
// The largest table is placed first. For each table every sharding type is as likely as the others, then every kernel
// of it, then every place with room; a type without room gives way to the next one. Types that would cut columns and do
// not, because the table is too narrow, count as the plain type that they are, unless nothing else is allowed.
class RandomDraw {
 public:
  // `topology`: the capacities left after reservations. Both outlive it.
  RandomDraw(const SearchSpace& space, const Topology& topology);

  // Nothing when some table found no room: `failed_table` names it.
  std::optional<Draw> next(Rng& rng);
  const std::string& failed_table() const { return failed_; }

 private:
  const SearchSpace& space_;
  const Topology& topology_;
  std::vector<Proposal> tables_;    // options of each table
  std::vector<std::size_t> order_;  // largest first
  std::string failed_;
};

}  // namespace shardsim::torchrec
