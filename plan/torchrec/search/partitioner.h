#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/rng.h"
#include "plan/torchrec/search/search_space.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

// Who holds each shard of a proposal: one list of ranks per option, in shard order, laid end to end.
struct Assignment {
  std::vector<int> ranks;
  std::vector<std::size_t> first;  // of each option; one more than options

  std::span<const int> of(std::size_t option) const {
    return std::span(ranks).subspan(first[option], first[option + 1] - first[option]);
  }
};

// Why a proposal found no place.
struct PlacementFailure {
  PartitionBy rule = PartitionBy::device;
  std::string table;
  std::int64_t rows = 0, cols = 0, row_offset = 0, col_offset = 0;  // of the shard, where one is to blame
  Storage shard;
  Perf perf;
  Storage device;    // what is left: of the rank it was for (uniform), or of the emptiest rank (device)
  std::string text;  // for people
};

enum class PartitionerKind { greedy_perf, memory_balanced };

struct PartitionerSettings {
  PartitionerKind kind = PartitionerKind::greedy_perf;
  bool sort_by_perf = false;  // else by storage; largest first
  bool balance_modules = false;
  int max_search_count = 10;  // memory_balanced
  double tolerance = 0.02;    // memory_balanced: how much slower than the fastest placement
};

// Finds a rank for every shard (planner/partitioners.py). Contract: a shard is on one rank with room for it; evenly
// spread options have shard i on rank i; the ranks of a host hold the shards of host options.
class Partitioner {
 public:
  virtual ~Partitioner() = default;
  // False: no place; `failure()` says why.
  virtual bool partition(const Proposal& proposal) = 0;
  virtual const Assignment& assignment() const = 0;
  virtual const PlacementFailure& failure() const = 0;
};

// `space` and `topology` (the capacities left after reservations) outlive it.
std::unique_ptr<Partitioner> make_partitioner(const PartitionerSettings& settings, const SearchSpace& space,
                                              const Topology& topology);

// ms of each rank: the sum of its shards' totals.
std::vector<double> perf_per_rank(const Proposal& proposal, const Assignment& assignment, int world_size);
// That of the busiest rank. Lower is better.
double perf_rating(const Proposal& proposal, const Assignment& assignment, int world_size);
// Bytes of device memory on the fullest rank.
std::int64_t storage_rating(const Proposal& proposal, const Assignment& assignment, int world_size);
std::vector<Storage> storage_per_rank(const Proposal& proposal, const Assignment& assignment, int world_size);

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
