#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

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

}  // namespace shardsim::torchrec
