#pragma once

#include <cstdint>

#include "plan/torchrec/spec/amounts.h"

namespace shardsim::torchrec {

// Consecutive shards of one option with equal size and equal estimates: 128 shards of a table are two or three runs.
struct ShardRun {
  int count = 1;
  std::int64_t rows = 0, cols = 0;              // of each shard
  std::int64_t row_offset = 0, col_offset = 0;  // of the first
  std::int64_t row_step = 0, col_step = 0;      // from one shard to the next
  std::int64_t input_bytes = 0, output_bytes = 0;
  Storage storage;
  Perf perf;

  std::int64_t row_offset_of(int i) const { return row_offset + i * row_step; }
  std::int64_t col_offset_of(int i) const { return col_offset + i * col_step; }
};

}  // namespace shardsim::torchrec
