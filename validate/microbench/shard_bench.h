#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/access/access_distribution.h"
#include "validate/microbench/microbench.h"

namespace shardsim {

// Shards whose lookups and updates are to be timed: the file of `shardsim cost-model sample`, schema shardsim.shards/1
// (docs/formats.md).
struct ShardFile {
  struct Table {
    std::string name;
    std::uint64_t rows = 0;
    double pooling = 0;  // mean lookups of a sample
    AccessSpec access;
    bool operator==(const Table&) const = default;
  };
  struct Piece {
    std::size_t table = 0;
    std::int64_t columns = 0;
    bool operator==(const Piece&) const = default;
  };
  std::string path;
  std::int64_t batch = 0;
  ElementType type = ElementType::fp32;
  RowOptimizer optimizer = RowOptimizer::sgd;
  std::vector<Table> tables;
  std::vector<std::vector<Piece>> shards;
  std::uint64_t hash = 0;  // of the file's bytes: whose labels they are
};

// Errors (Failure::input, file and line): what is not such a file; tables without rows or lookups; a shard without
// tables; a piece of a table that is not there.
ShardFile read_shards(const std::string& path);

// What a device is timed on: lookup and update of a shard's pieces in one call each, whose ids are drawn from the
// tables' access distributions. Bag b of a table has the ids from floor(b L) to floor((b + 1) L). Pieces of one table
// have the same ids, in all shards of a file.
BenchPoint shard_point(const ShardFile& file, std::size_t shard);
BenchInput draw_shard_input(const ShardFile& file, std::size_t shard, std::uint64_t seed);

struct ShardLabel {
  double forward_ms = 0;   // the fused lookup
  double backward_ms = 0;  // its backward pass with the update
  int repetitions = 0;     // that the medians are of
};

struct ShardOptions {
  std::uint64_t seed = 1;  // of the ids
  int warmup = 5;
  int repetitions = 10;
  double seconds = 10;  // no repetition of a shard begins after so long, once there are three
  bool warm = false;    // no flush between the calls
};

// What was measured, and of what: labels of one set are never mixed with those of another.
struct ShardLabels {
  std::string device_kind;  // "cpu", "cuda": as --device has it
  DeviceFacts device;
  ShardOptions options;
  std::vector<std::optional<ShardLabel>> labels;  // [shards]
};

// The labels that are in the journal beside an output: one line per measured shard, written when it was measured, so
// that what ends the process takes none of them. A line that was cut off is left out and measured again.
// Errors (Failure::input, naming the journal): it belongs to other shards, another device or other options.
class ShardJournal {
 public:
  // Opens or begins it; fills `labels` with what it holds.
  ShardJournal(const std::filesystem::path& output, const ShardFile& file, ShardLabels& labels);
  void add(std::size_t shard, const ShardLabel& label);
  void remove();

 private:
  std::filesystem::path path_;
};

struct ShardWatch {
  std::function<void(std::size_t done, std::size_t all)> progress;
  std::function<bool()> stop;
  std::function<void(std::size_t shard, const ShardLabel& label)> measured;
};

// Measures the shards that have no label yet, in file order, until stopped. All tables lie in one stretch of memory
// that is made and filled once, at its largest. Errors: Failure::run naming a shard that does not fit, before any is
// timed.
void measure_shards(BenchDevice& device, const ShardFile& file, ShardLabels& labels, const ShardWatch& watch);

// Schema shardsim.shard_labels/1.
std::string shard_labels_json(const ShardFile& file, const ShardLabels& labels);

}  // namespace shardsim
