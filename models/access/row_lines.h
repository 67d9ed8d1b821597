#pragma once

#include <cstdint>

namespace shardsim {

inline constexpr std::int64_t kGpuMemoryLine = 64;  // bytes that a read of a GPU's memory moves at least
inline constexpr std::int64_t kGpuCacheLine = 128;  // bytes of a line of its L1 and L2

// At multiples of how many bytes tables may begin at most: a multiple of all lines, beyond which places change nothing.
inline constexpr std::int64_t kFarthestAlignment = 1024;

// Mean bytes that a read of one of many rows touches, in lines of `line` bytes (a power of two): rows of `bytes` bytes
// begin `stride` bytes apart, and the first one `offset` bytes behind the beginning of a line.
double touched_bytes(std::int64_t bytes, std::int64_t offset, std::int64_t stride, std::int64_t line);

// Bytes of the lines that one row of a table touches, and one vector in the output, whose lines hold vectors of several
// tables.
struct RowLines {
  double memory = 0;  // of a row, in lines of kGpuMemoryLine
  double cache = 0;   // of a row, in lines of kGpuCacheLine
  double vector = 0;  // in lines of kGpuCacheLine
  bool operator==(const RowLines&) const = default;
};

// The mean over all places where a table may begin, at multiples of 4 bytes, and its vectors at multiples of 16.
RowLines expected_lines(std::int64_t row_bytes, std::int64_t vector_bytes);

// Where the tables of a fused call lie: their rows in one piece of memory, in the order of the call, each table
// beginning at a multiple of `alignment` bytes, and the vectors of a sample side by side. Begins at the first table.
// (pytorch/FBGEMM at 71d6f8b22, split_table_batched_embeddings_ops_training.py: weights of all tables in one tensor.)
class CallPlaces {
 public:
  // `sample_bytes`: of the vectors of all tables of a sample.
  CallPlaces(int alignment, std::int64_t sample_bytes) : alignment_(alignment), sample_bytes_(sample_bytes) {}

  // Bytes touched by a row, and by a vector, of the table that stands here; `line` as above.
  double row(std::int64_t bytes, std::int64_t line) const { return touched_bytes(bytes, rows_, bytes, line); }
  double vector(std::int64_t bytes, std::int64_t line) const {
    return sample_bytes_ == bytes ? static_cast<double>(bytes) : touched_bytes(bytes, vector_, sample_bytes_, line);
  }
  RowLines lines(std::int64_t row_bytes, std::int64_t vector_bytes) const {
    return {row(row_bytes, kGpuMemoryLine), row(row_bytes, kGpuCacheLine), vector(vector_bytes, kGpuCacheLine)};
  }

  // Goes on to the table behind the one that stands here, which has `table_bytes` bytes of rows.
  void pass(double table_bytes, std::int64_t vector_bytes);

 private:
  int alignment_;
  std::int64_t sample_bytes_;
  std::int64_t rows_ = 0, vector_ = 0;  // bytes before the table's; of rows what is left beyond kFarthestAlignment
};

}  // namespace shardsim
