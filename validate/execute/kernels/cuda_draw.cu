#include "validate/execute/kernels/cuda_draw.h"
#include "validate/execute/kernels/cuda_launch.h"

namespace shardsim::cuda {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

// mix() of base/rng.h, which is no function of a GPU.
__device__ std::uint64_t mixed(std::uint64_t number, std::uint64_t key) {
  number += key;
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9ULL;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EBULL;
  return number ^ (number >> 31);
}

// permute() of models/access/row_hash.h, likewise.
__device__ std::uint64_t permuted(std::uint64_t number, std::uint64_t rows, std::uint64_t key) {
  int bits = 1;
  while (bits < 63 && (rows - 1) >> bits != 0) ++bits;
  const int half = (bits + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = number >> half, right = number & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (mixed(right, key + round * kGolden) & mask);
      left = right;
      right = next;
    }
    number = (left << half) | right;
  } while (number >= rows);
  return number;
}

// The last table whose ids begin at this one or before.
__device__ int table_of(const DrawnTable* tables, int count, std::int64_t id) {
  int low = 0, high = count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (tables[middle].first <= id) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void draw_kernel(const DrawnTable* tables, int table_count, std::int64_t count, std::uint64_t salt,
                            std::int64_t* indices) {
  const std::int64_t id = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (id >= count) return;
  const DrawnTable& table = tables[table_of(tables, table_count, id)];
  const auto draw = static_cast<std::uint64_t>(id - table.first) + 1;
  const std::uint64_t random = mixed(draw * kGolden, mixed(table.name, salt));
  const double uniform = static_cast<double>(random >> 11) * 0x1.0p-53;
  indices[id] = static_cast<std::int64_t>(permuted(table.law.position(uniform), table.rows, table.key));
}

// Layers of the grid are the tables.
__global__ void begin_kernel(const DrawnTable* tables, std::int64_t bags, std::int64_t count, std::int64_t* offsets) {
  const std::int64_t bag = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (bag >= bags) return;
  const DrawnTable& table = tables[blockIdx.y];
  offsets[blockIdx.y * bags + bag] =
      table.first + static_cast<std::int64_t>(static_cast<double>(bag) * table.average_length);
  if (blockIdx.y + 1 == gridDim.y && bag + 1 == bags) offsets[gridDim.y * bags] = count;
}

}  // namespace

void draw_ids(const DrawnTable* tables, int table_count, std::int64_t count, std::uint64_t salt, std::int64_t* indices,
              Stream stream) {
  launch("drawing of ids", draw_kernel, {blocks_for(count, kThreads)}, stream, tables, table_count, count, salt,
         indices);
}

void begin_bags(const DrawnTable* tables, int table_count, std::int64_t bags, std::int64_t count, std::int64_t* offsets,
                Stream stream) {
  launch("beginning of bags", begin_kernel, {blocks_for(bags, kThreads), table_count}, stream, tables, bags, count,
         offsets);
}

}  // namespace shardsim::cuda
