#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "base/tree/bounds.h"
#include "base/units.h"
#include "models/compute/gpus/gpu_constants.h"
#include "models/learned/label_sets.h"
#include "models/workload/workload.h"

namespace shardsim {

inline constexpr double kLongestUs = 1e9, kMostSamples = 1e9, kMostDim = 1e5;  // of fused calls in tables
inline constexpr double kCallMicrosecond = 1e-6;

// Every column must be one that is known: a table of another kind must not be half-used.
void check_call_columns(const CsvTable& table, const std::vector<std::string>& needed,
                        const std::vector<std::string>& known);

// One row of a table by the names of its columns.
class CallCells {
 public:
  CallCells(const CsvTable& table, const CsvTable::Row& row) : table_(table), row_(row) {}
  const std::string& text(std::string_view column) const { return row_.cells[*table_.column(column)]; }
  Place place(std::string_view column) const { return row_.cell_place(*table_.column(column)); }
  double number(std::string_view column, const Bounds& bounds) const {
    const double value = parse_real(text(column), place(column));
    refuse_outside(bounds, value, text(column), place(column));
    return value;
  }
  std::int64_t count(std::string_view column, double most) const {
    const std::int64_t value = parse_count(text(column), place(column));
    refuse_outside(Bounds::from(1).to(most), static_cast<double>(value), text(column), place(column));
    return value;
  }

 private:
  const CsvTable& table_;
  const CsvTable::Row& row_;
};

// Errors (Failure::input): no constants of it are known.
GpuSpec gpu_named(const std::string& name, const Place& place);

// A row of a table of shards: a shard as it was timed, whose ids were drawn by the laws of its tables.
struct MeasuredShard {
  Place place;
  std::string set;  // of rows that were drawn alike
  std::int64_t batch = 0;
  Shard shard;
  std::string optimizer;
  double forward_us = 0, backward_us = 0;
};
struct MeasuredShards {
  Workload workload;  // whose tables the shards name
  std::string gpu;    // as the rows name it
  std::vector<MeasuredShard> rows;
};

// Errors (Failure::input, with place): unknown and missing columns, a number out of range, a table that the workload
// lacks, no workload, rows of several GPUs, ids that were drawn by another law.
MeasuredShards measured_shards(const CsvTable& table, const Workload* workload);

// The rows of a CSV table of shards as labelled shards, a set for each of its sets and batches, named after it; the
// provider is fbgemm, the device the GPU as the table of constants has it. Errors (Failure::input): those of
// measured_shards().
std::vector<ShardSet> read_measured_shards(const std::string& path, const Workload* workload);

}  // namespace shardsim
