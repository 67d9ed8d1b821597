#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/rng.h"
#include "plan/torchrec/search/device_pool.h"
#include "plan/torchrec/search/search_space.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

// Who holds each shard of a proposal: one list of ranks per option, in shard order, laid end to end.
struct Assignment {
  std::vector<int> ranks;
  std::vector<std::size_t> first = {0};  // of each option; one more than options

  void add(std::span<const int> of_option) {
    ranks.insert(ranks.end(), of_option.begin(), of_option.end());
    first.push_back(ranks.size());
  }

  std::span<const int> of(std::size_t option) const {
    return std::span(ranks).subspan(first[option], first[option + 1] - first[option]);
  }
  std::span<int> of(std::size_t option) {
    return std::span(ranks).subspan(first[option], first[option + 1] - first[option]);
  }
};

// Why a proposal found no place.
struct PlacementFailure {
  PartitionBy rule = PartitionBy::device;
  std::string table;
  ShardRun run;  // of the shard, where one is to blame, and its number there
  int index = 0;
  Storage shard;
  Storage device;    // what is left: of the rank it was for (uniform), or of the emptiest rank (device)
  std::string text;  // for people
};

enum class PartitionerKind { greedy_perf, memory_balanced };

struct PartitionerSettings {
  PartitionerKind kind = PartitionerKind::greedy_perf;
  bool sort_by_perf = false;  // else by storage; largest first
  bool balance_modules = false;
  int max_search_count = 10;            // memory_balanced
  double tolerance = 0.02;              // memory_balanced: how much slower than the fastest placement
  bool key_value_columns_apart = true;  // column shards of a key_value table on different ranks, as 2026-08 has it
};

// Finds a rank for every shard (planner/partitioners.py): a rank with room for it; of evenly spread options shard i on
// rank i; shards of host options on the ranks of one host. Evenly spread options come first; then groups, largest
// first, each to the least busy rank or host (GreedyPerfPartitioner). memory_balanced then looks, by bisection of the
// memory that a rank may use, for the placement with the least memory on the fullest rank that is at most `tolerance`
// slower.
class Partitioner {
 public:
  // `space` and `topology` (the capacities left after reservations) outlive it.
  Partitioner(const PartitionerSettings& settings, const SearchSpace& space, const Topology& topology)
      : settings_(settings), space_(space), topology_(topology), pool_(topology) {}

  // False: no place; `failure()` says why.
  bool partition(const Proposal& proposal);
  const Assignment& assignment() const { return assignment_; }
  const PlacementFailure& failure() const { return failure_; }

 private:
  using Ranks = std::span<int>;
  struct Group;

  // With every rank's device memory taken as `hbm_per_device`.
  bool place(const Proposal& proposal, std::optional<std::int64_t> hbm_per_device);
  void balance(const Proposal& proposal);
  std::vector<Group> grouped(const Proposal& proposal) const;
  bool spread_evenly(const Proposal& proposal);
  bool spread_at_once(const Proposal& proposal);
  bool spread_one_by_one(const Proposal& proposal);
  bool place_group(const Proposal& proposal, const Group& group);
  bool on_devices(const ShardingOption& option, Ranks ranks);
  bool on_different_devices(const ShardingOption& option, Ranks ranks);
  bool on_one_host(const Proposal& proposal, const Group& group);
  bool in_host(const Proposal& proposal, const Group& group, int host);
  bool on_several_hosts(const ShardingOption& option, Ranks ranks);
  bool in_hosts(const ShardingOption& option, Ranks ranks, std::span<const int> hosts);
  bool fail(const ShardingOption& option, const std::string& text);
  bool blame(const ShardingOption& option, const Homeless& shard, const Storage& room);

  PartitionerSettings settings_;
  const SearchSpace& space_;
  const Topology& topology_;
  DevicePool pool_;
  Assignment assignment_;
  PlacementFailure failure_;
};

// ms of each rank: the sum of its shards' totals.
std::vector<double> perf_per_rank(const Proposal& proposal, const Assignment& assignment, int world_size);
// That of the busiest rank. Lower is better.
double perf_rating(const Proposal& proposal, const Assignment& assignment, int world_size);
// Bytes of device memory on the fullest rank.
std::int64_t storage_rating(const Proposal& proposal, const Assignment& assignment, int world_size);
std::vector<Storage> storage_per_rank(const Proposal& proposal, const Assignment& assignment, int world_size);

// One option per table, and ranks for its shards.
struct Candidate {
  std::vector<ShardingOption> plan;
  Assignment assignment;
  double rating = 0;
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
  std::optional<Candidate> next(Rng& rng);
  const std::string& failed_table() const { return failed_; }

 private:
  const SearchSpace& space_;
  const Topology& topology_;
  std::vector<Proposal> tables_;    // options of each table
  std::vector<std::size_t> order_;  // largest first
  std::string failed_;
};

}  // namespace shardsim::torchrec
