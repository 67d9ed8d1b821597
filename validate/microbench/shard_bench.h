#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "models/learned/label_sets.h"
#include "validate/microbench/journal.h"
#include "validate/microbench/microbench.h"

namespace shardsim {

// Times of the lookups and updates of shards (docs/formats/measurements.md, shards and their labels), for costs that
// are learned.

// The point that a device is timed on: lookup and update of a shard's pieces in one call each. Errors (Failure::input,
// at the table): rows or an optimizer that the kernels do not know.
BenchPoint shard_point(const ShardSet& set, std::size_t shard);

// The laws by which the ids of a set's shards are drawn: the tables' access distributions, rows in an order that
// follows from the seed. Bag b of a table has the ids from floor(b L) to floor((b + 1) L), L its mean items per sample.
// Pieces of one table have the same ids, in all shards of a set; each call has others. The set must outlive it.
class ShardIds {
 public:
  // Errors (Failure::input, at the table): an access distribution that is none.
  ShardIds(const ShardSet& set, std::uint64_t seed);
  const std::vector<PositionDraw>& laws() const { return laws_; }
  DrawnIds of(std::size_t shard) const;
  std::uint64_t salt(int call) const;

 private:
  const ShardSet& set_;
  std::uint64_t seed_;
  std::vector<PositionDraw> laws_;
  std::map<int, int> law_of_;  // by the table's number
};

// A label is the least time of all calls, for all that disturbs a machine makes calls longer, and none shorter (Chen,
// Revels: Robust benchmarking in noisy environments, 2016). A disturbance often lasts longer than a few calls: hence
// visits, a pass over all shards between two of them.
struct ShardOptions {
  std::uint64_t seed = 1;  // of the ids
  int visits = 3;          // of every shard
  int warmup = 2;          // calls of a visit that are not counted
  int repetitions = 4;     // and that are
  double seconds = 3;      // no call of a visit is begun after so long, once one is counted
  bool warm = false;       // no flush between the calls
};

// The visits of a shard so far, and the least seconds.
struct VisitedShard {
  int visits = 0;
  ShardSeconds least = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  void add(const ShardSeconds& visit);
};

// The visits that are in the journal beside an output, a line each.
class ShardJournal {
 public:
  // Opens or begins it, and adds what it holds to the shards. Errors: those of Journal; a line that is no visit of one
  // of these shards.
  ShardJournal(const std::filesystem::path& output, const std::string& what, std::vector<VisitedShard>& shards);
  void add(std::size_t shard, const ShardSeconds& visit);
  void remove() { journal_.remove(); }
  const Journal& journal() const { return journal_; }

 private:
  Journal journal_;
};

struct ShardWatch {
  std::function<void(std::size_t done, std::size_t all)> progress;  // visits
  std::function<bool()> stop;                                       // asked between calls
  std::function<void(std::size_t shard, const ShardSeconds& visit)> visited;
};

// Errors (before anything is timed): those of shard_point(); Failure::run naming a shard that the device has no memory
// for.
void check_shards(const BenchDevice& device, const ShardSet& set);

// Measures the shards of the set that have no label yet, until stopped: visits them in order, all of them once, then
// all again. `shards` has the visits of before, one entry per shard; empty: none. Tables, states and gradients lie in
// memory that is made and filled once, at its largest. Errors: those of check_shards().
void measure_shards(BenchDevice& device, ShardSet& set, std::vector<VisitedShard> shards, const ShardOptions& options,
                    const ShardWatch& watch);

}  // namespace shardsim
