#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "plan/learned/label_sets.h"
#include "validate/microbench/microbench.h"

namespace shardsim {

// Times of the lookups and updates of shards (docs/formats.md, shards and their labels), for costs that are learned.

// What a device is timed on: lookup and update of a shard's pieces in one call each, whose ids are drawn from the
// tables' access distributions. Bag b of a table has the ids from floor(b L) to floor((b + 1) L), L its mean items per
// sample. Pieces of one table have the same ids, in all shards of a set.
// Errors (Failure::input, at the table): rows or an optimizer that the kernels do not know.
BenchPoint shard_point(const ShardSet& set, std::size_t shard);
BenchInput draw_shard_input(const ShardSet& set, std::size_t shard, std::uint64_t seed);

struct ShardOptions {
  std::uint64_t seed = 1;  // of the ids
  int warmup = 5;
  int repetitions = 10;
  double seconds = 10;  // no repetition of a shard begins after so long, once there are three
  bool warm = false;    // no flush between the calls
};

// The labels that are in the journal beside an output, a line per shard, each written when it was measured: what ends
// the process takes none of them. A line that was cut off is left out and its shard measured again.
class ShardJournal {
 public:
  // Opens or begins it, and puts what it holds into the set's labels. `what` says what is measured and how: a journal
  // of something else is refused (Failure::input, naming the journal).
  ShardJournal(const std::filesystem::path& output, const std::string& what, ShardSet& set);
  void add(std::size_t shard, const ShardSeconds& label) const;
  void remove() const;

 private:
  std::filesystem::path path_;
};

struct ShardWatch {
  std::function<void(std::size_t done, std::size_t all)> progress;
  std::function<bool()> stop;  // asked between repetitions
  std::function<void(std::size_t shard, const ShardSeconds& label)> measured;
};

// Errors (before anything is timed): those of shard_point(); Failure::run naming a shard that the device has no memory
// for.
void check_shards(const BenchDevice& device, const ShardSet& set);

// Measures the shards of the set that have no label yet, in order, until stopped. All tables lie in one stretch of
// memory that is made and filled once, at its largest. Errors: those of check_shards().
void measure_shards(BenchDevice& device, ShardSet& set, const ShardOptions& options, const ShardWatch& watch);

}  // namespace shardsim
