#include "validate/execute/kernels/cuda_elements.h"
#include "validate/execute/kernels/cuda_embedding.h"
#include "validate/execute/kernels/cuda_group.h"
#include "validate/execute/kernels/cuda_launch.h"

namespace shardsim::cuda {
namespace {

template <int width>
__device__ void write_sum(const float (&sum)[width], float* out, bool aligned) {
  if constexpr (width % 4 == 0) {
    if (aligned) {
#pragma unroll
      for (int i = 0; i < width; i += 4) {
        *reinterpret_cast<float4*>(out + i) = make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]);
      }
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < width; ++i) out[i] = sum[i];
}

constexpr int kInFlight = 8;  // rows that a thread waits for at a time

// The rows of one bag, and what is asked of them.
template <typename T>
struct Bag {
  const T* rows;  // of the table
  int dim;
  const std::int64_t* indices;  // [count]
  const float* weights;         // [count], or null
  int count;
};

// Adds the columns from c on of up to kInFlight rows, those of these indices.
template <int width, bool weighted, typename T>
__device__ void add_rows(const Bag<T>& bag, int c, int count, const std::int64_t (&indices)[kInFlight],
                         const float (&weights)[kInFlight], float (&sum)[width]) {
  const auto row_at = [&](int k) { return bag.rows + indices[k] * bag.dim + c; };
  if constexpr (weighted) {
    add_weighted_batch<kInFlight>(
        count, row_at, [&](int k) { return weights[k]; }, sum);
  } else {
    add_batch<kInFlight>(count, row_at, sum);
  }
}

// By a group of fewer threads than there are rows in flight: each reads all indices itself.
template <int width, bool weighted, typename T>
__device__ void add_bag_alone(const Bag<T>& bag, int c, float (&sum)[width]) {
  for (int i = 0; i < bag.count; i += kInFlight) {
    std::int64_t indices[kInFlight] = {};
    float weights[kInFlight] = {};
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (i + k >= bag.count) continue;
      indices[k] = bag.indices[i + k];
      if constexpr (weighted) weights[k] = bag.weights[i + k];
    }
    add_rows<width, weighted>(bag, c, bag.count - i, indices, weights, sum);
  }
}

// By a larger group: it reads as many indices as it has threads at once, and hands them round. All threads of a warp
// call, those without columns too; most: indices of the largest bag of the warp.
template <int width, bool weighted, typename T>
__device__ void add_bag_together(const Bag<T>& bag, const Group& group, int most, int c, float (&sum)[width]) {
  const int lanes = static_cast<int>(group.lanes), lane = static_cast<int>(group.lane);
  for (int base = 0; base < most; base += lanes) {
    const bool has_own = base + lane < bag.count;
    const std::int64_t own = has_own ? bag.indices[base + lane] : 0;
    const float own_weight = weighted && has_own ? bag.weights[base + lane] : 0;
    for (int i = 0; i < lanes && base + i < most; i += kInFlight) {
      std::int64_t indices[kInFlight];
      float weights[kInFlight] = {};
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) {
        indices[k] = __shfl_sync(kWholeWarp, own, i + k, lanes);
        if constexpr (weighted) weights[k] = __shfl_sync(kWholeWarp, own_weight, i + k, lanes);
      }
      add_rows<width, weighted>(bag, c, c < bag.dim ? bag.count - base - i : 0, indices, weights, sum);
    }
  }
}

// A group per bag and table.
template <typename T, int width, bool weighted>
__global__ void __launch_bounds__(kThreads, 3)
    pooled_lookup_kernel(const TableView* tables, DeviceTables::List list, std::int64_t bags, const T* arena,
                         const std::int64_t* all_indices, const std::int64_t* offsets, const float* weights, float* out,
                         std::int64_t pitch) {
  const int at = list.of_block(blockIdx.x), t = list.tables[at];
  const TableView table = tables[t];
  const Group group(lanes_of<width>(table.dim));
  const std::int64_t number =
      static_cast<std::int64_t>(blockIdx.x - list.blocks[at]) * (kThreads / group.lanes) + group.number;
  const bool is_bag = number < bags;
  const std::int64_t first = is_bag ? offsets[t * bags + number] : 0;
  const int count = is_bag ? static_cast<int>(offsets[t * bags + number + 1] - first) : 0;
  const Bag<T> bag{arena + table.begin, static_cast<int>(table.dim), all_indices + first,
                   weighted ? weights + first : nullptr, count};
  const int most = group.lanes < kInFlight ? 0 : warp_most(count);
  const bool aligned = (pitch | table.column) % 4 == 0;
  for (int base = 0; base < bag.dim; base += static_cast<int>(group.lanes) * width) {
    const int c = base + static_cast<int>(group.lane) * width;
    float sum[width] = {};
    if (group.lanes >= kInFlight) {
      add_bag_together<width, weighted>(bag, group, most, c, sum);
    } else if (c < bag.dim) {
      add_bag_alone<width, weighted>(bag, c, sum);
    }
    if (is_bag && c < bag.dim) write_sum<width>(sum, out + number * pitch + table.column + c, aligned);
  }
}

template <typename T, int width>
void launch_list(const DeviceTables& tables, const DeviceTables::List& list, const void* arena,
                 const std::int64_t* indices, const std::int64_t* offsets, const float* weights, float* out,
                 Stream stream) {
  if (list.count == 0 || tables.bags() == 0) return;
  const auto kernel = weights != nullptr ? pooled_lookup_kernel<T, width, true> : pooled_lookup_kernel<T, width, false>;
  launch("pooled lookup", kernel, {list.all_blocks}, stream, tables.views(), list, tables.bags(),
         static_cast<const T*>(arena), indices, offsets, weights, out, tables.output_dim());
}

template <typename T>
void launch_lists(const DeviceTables& tables, const void* arena, const std::int64_t* indices,
                  const std::int64_t* offsets, const float* weights, float* out, Stream stream) {
  constexpr int kVector = 16 / sizeof(T);
  launch_list<T, kVector>(tables, tables.in_vectors(), arena, indices, offsets, weights, out, stream);
  launch_list<T, 1>(tables, tables.in_elements(), arena, indices, offsets, weights, out, stream);
}

constexpr int kRowsAtOnce = 4;  // of one row of threads, all loaded before the first is stored

template <typename W>
__global__ void gather_kernel(const W* arena, const std::int64_t* indices, std::int64_t count, std::int64_t words,
                              W* out) {
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y) * kRowsAtOnce;
  for (std::int64_t w = threadIdx.x; w < words; w += blockDim.x) {
    W held[kRowsAtOnce] = {};
#pragma unroll
    for (int k = 0; k < kRowsAtOnce; ++k) {
      if (first + k < count) held[k] = arena[indices[first + k] * words + w];
    }
#pragma unroll
    for (int k = 0; k < kRowsAtOnce; ++k) {
      if (first + k < count) out[(first + k) * words + w] = held[k];
    }
  }
}

template <typename W>
void launch_gather(std::int64_t row_bytes, const void* arena, const std::int64_t* indices, std::int64_t count,
                   void* out, Stream stream) {
  const auto words = row_bytes / static_cast<std::int64_t>(sizeof(W));
  const dim3 block = row_block(lanes_for(words));
  launch("gather of rows", gather_kernel<W>, {blocks_for(count, block.y * kRowsAtOnce), 1, block, 0}, stream,
         static_cast<const W*>(arena), indices, count, words, static_cast<W*>(out));
}

bool aligned(const void* pointer, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(bytes) == 0;
}

// splitmix64 (Steele, Lea, Flood 2014), of which the upper 24 bits become the value.
__device__ float hashed_value(std::uint64_t number) {
  number += 0x9E3779B97F4A7C15ULL;
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9ULL;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EBULL;
  number ^= number >> 31;
  return static_cast<float>(number >> 40) * (1.0F / 16777216.0F) - 0.5F;
}

template <typename T>
__global__ void fill_kernel(std::int64_t elements, std::uint64_t seed, T* arena) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements; i += step) {
    from_float(hashed_value(seed + static_cast<std::uint64_t>(i)), arena[i]);
  }
}

template <typename T>
void launch_fill(std::int64_t elements, std::uint64_t seed, void* arena, Stream stream) {
  const std::int64_t blocks = blocks_for(elements, kThreads);
  launch("filling of tables", fill_kernel<T>, {blocks < 65536 ? blocks : 65536}, stream, elements, seed,
         static_cast<T*>(arena));
}

}  // namespace

void pooled_lookup(const DeviceTables& tables, const void* arena, const std::int64_t* indices,
                   const std::int64_t* offsets, float* out, Stream stream, const float* weights) {
  const auto launcher = tables.type() == ElementType::fp32   ? launch_lists<float>
                        : tables.type() == ElementType::fp16 ? launch_lists<__half>
                                                             : launch_lists<__nv_bfloat16>;
  launcher(tables, arena, indices, offsets, weights, out, stream);
}

void gather_rows(std::int64_t row_bytes, const void* arena, const std::int64_t* indices, std::int64_t count, void* out,
                 Stream stream) {
  const auto fits = [&](std::int64_t bytes) {
    return row_bytes % bytes == 0 && aligned(arena, bytes) && aligned(out, bytes);
  };
  const auto launcher = fits(16)  ? launch_gather<uint4>
                        : fits(4) ? launch_gather<unsigned int>
                                  : launch_gather<unsigned short>;
  launcher(row_bytes, arena, indices, count, out, stream);
}

void fill(ElementType type, std::int64_t elements, std::uint64_t seed, void* arena, Stream stream) {
  const auto launcher = type == ElementType::fp32   ? launch_fill<float>
                        : type == ElementType::fp16 ? launch_fill<__half>
                                                    : launch_fill<__nv_bfloat16>;
  launcher(elements, seed, arena, stream);
}

}  // namespace shardsim::cuda
