#include "validate/execute/kernels/cuda_elements.h"
#include "validate/execute/kernels/cuda_embedding.h"
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

// One row of threads per bag and table; layers of the grid are the tables of `list`.
template <typename T, int width, bool weighted>
__global__ void pooled_lookup_kernel(const TableView* tables, const int* list, std::int64_t bags, const T* arena,
                                     const std::int64_t* indices, const std::int64_t* offsets, const float* weights,
                                     float* out, std::int64_t pitch) {
  const std::int64_t bag = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (bag >= bags) return;
  const int t = list[blockIdx.y];
  const TableView table = tables[t];
  const std::int64_t first = offsets[t * bags + bag], end = offsets[t * bags + bag + 1];
  float* const out_row = out + bag * pitch + table.column;
  const bool aligned = (pitch | table.column) % 4 == 0;
  for (std::int64_t c = static_cast<std::int64_t>(threadIdx.x) * width; c < table.dim; c += blockDim.x * width) {
    float sum[width] = {};
    const T* const columns = arena + table.begin + c;
    const auto row_at = [&](std::int64_t i) { return columns + indices[i] * table.dim; };
    if constexpr (weighted) {
      add_weighted_rows<width>(first, end, row_at, weights, sum);
    } else {
      add_rows<width>(first, end, row_at, sum);
    }
    write_sum<width>(sum, out_row + c, aligned);
  }
}

template <typename T, int width>
void launch_list(const DeviceTables& tables, const DeviceTables::List& list, const void* arena,
                 const std::int64_t* indices, const std::int64_t* offsets, const float* weights, float* out,
                 Stream stream) {
  if (list.count == 0 || tables.bags() == 0) return;
  const dim3 block = row_block(lanes_for(blocks_for(list.largest_dim, width)));
  const auto kernel = weights != nullptr ? pooled_lookup_kernel<T, width, true> : pooled_lookup_kernel<T, width, false>;
  launch("pooled lookup", kernel, {blocks_for(tables.bags(), block.y), list.count, block, 0}, stream, tables.views(),
         list.tables, tables.bags(), static_cast<const T*>(arena), indices, offsets, weights, out, tables.output_dim());
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
