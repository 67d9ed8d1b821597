#include <algorithm>
#include <bit>

#include "validate/execute/kernels/cuda_embedding.h"
#include "validate/execute/kernels/cuda_launch.h"
#include "validate/execute/kernels/cuda_optimizer.h"
#include "validate/execute/kernels/cuda_runs.h"

namespace shardsim::cuda {
namespace {

constexpr std::size_t kSharedBytes = 48 * 1024;  // what every GPU gives a block without asking
constexpr std::int64_t kBlocksPerMultiprocessor = 8;
constexpr int kShortBatch = 4, kLongBatch = 8;  // gradients that a thread waits for at a time
constexpr int kWarps = kThreads / static_cast<int>(kWarp);

// Gradients by what was sorted along with the keys: the number of the bag over all tables, or of the gathered row.
struct Gradients {
  const float* values;
  std::int64_t pitch;  // elements from one row of gradients to the next

  // The gradient block of a table in the first row, to be moved by `pitch` per number; before_: bags of the tables
  // before.
  __device__ const float* block_of(const TableView& table, std::int64_t bags_before) const {
    return values - bags_before * pitch + table.column;
  }
};

// The arguments that the kernels of an update share.
template <typename T>
struct Update {
  SortedLookups sorted;
  WindowedTables tables;
  LongRuns long_runs;
  Gradients gradients;
  OptimizerStep step;
  T* arena;
  float* state;
};

// A warp reads this of a window at once, and the positions behind it into which a short run may reach.
struct WindowMemory {
  std::uint64_t keys[2 * kWarp + 1];  // from the position before the window on
  std::uint32_t values[2 * kWarp];
  std::uint32_t runs[kWarp];  // of short runs that begin in the window: where, and 256 times how many

  // All threads of a warp.
  __device__ void read(const SortedLookups& sorted, std::int64_t first) {
    constexpr std::uint64_t kNone = ~std::uint64_t{0};
    const auto lane = threadIdx.x % kWarp;
    if (lane == 0) keys[0] = first > 0 ? sorted.keys[first - 1] : kNone;
#pragma unroll
    for (unsigned part = 0; part < 2; ++part) {
      const unsigned at = lane + part * kWarp;
      const bool is_there = first + at < sorted.count;
      keys[at + 1] = is_there ? sorted.keys[first + at] : kNone;
      values[at] = is_there ? sorted.values[first + at] : 0;
    }
  }

  __device__ std::uint64_t key(unsigned at) const {
    return keys[at + 1];
  }
  __device__ bool begins(unsigned at) const {
    return keys[at] != keys[at + 1];
  }
  __device__ bool is_long(unsigned at) const {
    return key(at + kLongRun) == key(at);
  }

  // Returns the length of a short run that begins there.
  __device__ unsigned length(unsigned at) const {
    unsigned further = 0;
#pragma unroll
    for (unsigned step = kWarp / 2; step > 0; step /= 2) {
      if (key(at + further + step) == key(at)) further += step;
    }
    return further + 1;
  }
};
static_assert(kLongRun == kWarp);

// Notes the runs that begin in the first `size` positions of a window; returns the number of the short ones. All
// threads of a warp.
__device__ unsigned find_runs(WindowMemory& window, const SortedLookups& sorted, const LongRuns& long_runs,
                              std::int64_t first, int size) {
  const unsigned lane = threadIdx.x % kWarp;
  const bool begins = static_cast<int>(lane) < size && window.begins(lane);
  const bool is_long = begins && window.is_long(lane);
  if (is_long) {
    const std::int64_t position = first + lane;
    long_runs.add(position, sorted.end_of_run(position + kLongRun, window.key(lane)));
  }
  const unsigned found = __ballot_sync(kWholeWarp, begins && !is_long);
  if (begins && !is_long) {
    window.runs[__popc(found & ((1U << lane) - 1U))] = lane | window.length(lane) << 8;
  }
  __syncwarp(kWholeWarp);
  return static_cast<unsigned>(__popc(found));
}

// One short run of a window, by the threads of a group.
template <int width, typename T>
__device__ void update_short_run(const Update<T>& update, const TableView& table, const float* block,
                                 const WindowMemory& window, unsigned run, const Group& group) {
  const unsigned at = run & 255U;
  const auto length = static_cast<int>(run >> 8);
  const auto row = static_cast<std::int64_t>(window.key(at)) - table.first_row;
  const std::uint32_t* const values = window.values + at;
  const auto gradient_of = [&](int c, float(&sum)[width]) {
    for (int i = 0; i < length; i += kShortBatch) {
      add_batch<kShortBatch>(
          length - i, [&](int k) { return block + values[i + k] * update.gradients.pitch + c; }, sum);
    }
  };
  update_row<width>(row_update(table, row, update.arena, update.state, update.step), update.step, group, gradient_of);
}

// One window: rounds of as many short runs as the warp has groups.
template <int width, typename T>
__device__ void update_window(const Update<T>& update, std::int64_t number, WindowMemory& window) {
  const WindowedTables& tables = update.tables;
  const int t = tables.tables != nullptr ? tables.table_of(number) : 0;
  const TableView table = tables.tables != nullptr ? tables.tables[t] : tables.one;
  const Group group(lanes_of<width>(table.dim));
  const std::int64_t begin = tables.tables != nullptr ? tables.offsets[t * tables.bags] : 0;
  const std::int64_t end = tables.tables != nullptr ? tables.offsets[(t + 1) * tables.bags] : tables.lookups;
  const std::int64_t before = tables.tables != nullptr ? tables.windows[t] : 0;
  const int size = window_of(group.lanes);
  const std::int64_t first = begin + (number - before) * size, rest = end - first;
  window.read(update.sorted, first);
  __syncwarp(kWholeWarp);
  const unsigned found =
      find_runs(window, update.sorted, update.long_runs, first, rest < size ? static_cast<int>(rest) : size);
  const float* const block = update.gradients.block_of(table, tables.tables != nullptr ? t * tables.bags : 0);
  for (unsigned run = group.in_warp(); run < found; run += kWarp / group.lanes) {
    update_short_run<width>(update, table, block, window, window.runs[run], group);
  }
  __syncwarp(kWholeWarp);  // before the next window is read
}

// A warp per window.
template <typename T, int width>
__global__ void __launch_bounds__(kThreads, 3) short_runs_kernel(Update<T> update) {
  extern __shared__ float4 shared[];
  WindowMemory& window = reinterpret_cast<WindowMemory*>(shared)[threadIdx.x / kWarp];
  const std::int64_t windows = update.tables.template all<width>();
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kWarps;
  for (std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp; number < windows;
       number += step) {
    update_window<width>(update, number, window);
  }
}

// Adds the numbers of the other groups of a warp to those of the first.
template <int width>
__device__ void add_groups(unsigned lanes, float (&sum)[width]) {
  for (unsigned offset = lanes; offset < kWarp; offset *= 2) {
#pragma unroll
    for (int i = 0; i < width; ++i) sum[i] += __shfl_xor_sync(kWholeWarp, sum[i], static_cast<int>(offset));
  }
}

// Sums the gradients of a part into sums[warp][dim]: batches of positions go to the block's groups in turn, and the
// groups of a warp are added up.
template <int width>
__device__ void sum_by_warps(const SortedLookups& sorted, const Gradients& gradients, const float* block,
                             const UpdateWorkspace::Part& part, const Group& group, int dim, float* sums) {
  const unsigned batches = blockDim.x / group.lanes * kLongBatch;
  float* const own = sums + static_cast<int>(threadIdx.x / kWarp) * dim;
  for (int base = 0; base < dim; base += static_cast<int>(group.lanes) * width) {
    const int c = base + static_cast<int>(group.lane) * width;
    float sum[width] = {};
    for (std::uint32_t p = part.first + group.number * kLongBatch; p < part.end && c < dim; p += batches) {
      add_batch<kLongBatch>(
          static_cast<int>(part.end - p), [&](int k) { return block + sorted.values[p + k] * gradients.pitch + c; },
          sum);
    }
    add_groups<width>(group.lanes, sum);
    if (group.in_warp() == 0 && c < dim) store<width>(sum, own + c);
  }
  __syncthreads();
}

// Adds the sums of the block's other warps to those of the first.
__device__ inline void add_warps(int dim, float* sums) {
  for (int c = static_cast<int>(threadIdx.x); c < dim; c += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int warp = 0; warp < static_cast<int>(blockDim.x / kWarp); ++warp) sum += sums[warp * dim + c];
    sums[c] = sum;
  }
  __syncthreads();
}

// Leaves the sums of one part of a longer run for the block that comes last, in which they are added up in the order of
// the parts. True: this is that block, and has the sums of the whole run.
__device__ inline bool are_complete(const LongRuns& runs, const UpdateWorkspace::Part& part, int dim, float* sums) {
  if (part.parts == 1) return true;
  for (int c = static_cast<int>(threadIdx.x); c < dim; c += static_cast<int>(blockDim.x)) {
    runs.sums[(part.place + part.number) * runs.dim + c] = sums[c];
  }
  __threadfence();
  __syncthreads();
  auto* const before = reinterpret_cast<std::uint32_t*>(sums);
  if (threadIdx.x == 0) *before = atomicAdd(runs.arrived + part.place, 1U);
  __syncthreads();
  const bool is_last = *before + 1 == part.parts;
  __syncthreads();
  if (!is_last) return false;
  __threadfence();
  for (int c = static_cast<int>(threadIdx.x); c < dim; c += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (std::uint32_t i = 0; i < part.parts; ++i) sum += __ldcg(runs.sums + (part.place + i) * runs.dim + c);
    sums[c] = sum;
  }
  __syncthreads();
  return true;
}

// A block per part of a long run.
template <typename T, int width>
__global__ void __launch_bounds__(kThreads, 2) long_runs_kernel(Update<T> update) {
  extern __shared__ float4 shared[];
  float* const sums = reinterpret_cast<float*>(shared);
  const std::uint32_t parts = *update.long_runs.counts;
  for (std::uint32_t i = blockIdx.x; i < parts; i += gridDim.x) {
    const UpdateWorkspace::Part part = update.long_runs.parts[i];
    const auto bags = static_cast<std::uint32_t>(update.tables.bags);
    const bool pooled = update.tables.tables != nullptr;
    const std::uint32_t t = pooled ? update.sorted.values[part.first] / bags : 0;
    const TableView table = pooled ? update.tables.tables[t] : update.tables.one;
    const Group group(lanes_of<width>(table.dim));
    const float* const block = update.gradients.block_of(table, static_cast<std::int64_t>(t) * update.tables.bags);
    const int dim = static_cast<int>(table.dim);
    sum_by_warps<width>(update.sorted, update.gradients, block, part, group, dim, sums);
    add_warps(dim, sums);
    if (are_complete(update.long_runs, part, dim, sums) && group.number == 0) {
      const auto row = static_cast<std::int64_t>(update.sorted.keys[part.first]) - table.first_row;
      const auto gradient_of = [&](int c, float(&gradient)[width]) { load<width>(sums + c, gradient); };
      update_row<width>(row_update(table, row, update.arena, update.state, update.step), update.step, group,
                        gradient_of);
    }
    __syncthreads();
  }
}

// A block of warps each of which has room for `dim` sums in shared memory.
Shape shape_with_sums(std::int64_t dim) {
  const auto row_bytes = static_cast<std::size_t>(dim) * sizeof(float);
  const std::size_t warps = std::min<std::size_t>(kWarps, kSharedBytes / row_bytes);
  return {1, 1, dim3(static_cast<unsigned>(warps * kWarp)), warps * row_bytes};
}

template <typename T, int width>
void launch_update(const Update<T>& update, Stream stream) {
  const std::int64_t most_blocks = kBlocksPerMultiprocessor * multiprocessors();
  // Windows have four positions at least, and the last one of a table is cut.
  const std::int64_t windows = update.sorted.count / kRoundsOfWindow + update.tables.count;
  launch("update of rows", short_runs_kernel<T, width>,
         {std::min(blocks_for(windows, kWarps), most_blocks), 1, dim3(kThreads), kWarps * sizeof(WindowMemory)}, stream,
         update);
  Shape shape = shape_with_sums(update.long_runs.dim);
  shape.blocks = std::min(UpdateWorkspace::most_parts(update.sorted.count), most_blocks);
  launch("update of hot rows", long_runs_kernel<T, width>, shape, stream, update);
}

bool aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

// True when columns are taken four at a time: rows and gradients of whole such groups, in memory that begins at one.
bool in_fours(bool whole, const void* arena, const float* state, const float* gradients) {
  return whole && aligned(arena) && aligned(state) && aligned(gradients);
}

struct UpdateCall {
  WindowedTables tables;
  Gradients gradients;
  std::int64_t dim;  // largest
  bool in_fours;
  const std::uint64_t* keys;
  const std::uint32_t* values;
  std::int64_t rows;
};

template <typename T>
void run_update(const UpdateCall& call, void* arena, float* state, const OptimizerSettings& settings,
                const UpdateWorkspace& workspace, Stream stream) {
  const std::int64_t count = call.tables.lookups;
  const int bits = std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(call.rows - 1))));
  sort_pairs(call.keys, call.values, count, bits, workspace, stream);
  const Update<T> update{{workspace.sorted_keys, workspace.sorted_values, count},
                         call.tables,
                         {workspace.parts, workspace.part_counts, workspace.arrived, workspace.partial_sums, call.dim},
                         call.gradients,
                         optimizer_step(settings),
                         static_cast<T*>(arena),
                         state};
  call.in_fours ? launch_update<T, 4>(update, stream) : launch_update<T, 1>(update, stream);
}

auto updater_of(ElementType type) {
  return type == ElementType::fp32   ? run_update<float>
         : type == ElementType::fp16 ? run_update<__half>
                                     : run_update<__nv_bfloat16>;
}

constexpr unsigned kLanesOfBag = 8;

// Keys and bags of all lookups, a group per bag; the first warp of all also prepares what follows the sorting.
template <int width>
__global__ void expand_bags_kernel(WindowedTables of, const std::int64_t* indices, std::uint64_t* keys,
                                   std::uint32_t* values, std::int64_t* windows, std::uint32_t* part_counts) {
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x < kWarp) {
    count_windows<width>(of, windows);
    if (threadIdx.x < 2) part_counts[threadIdx.x] = 0;
  }
  const Group group(kLanesOfBag);
  const std::int64_t bag = static_cast<std::int64_t>(blockIdx.x) * (kThreads / kLanesOfBag) + group.number;
  if (bag >= of.bags) return;
  const std::int64_t of_all = blockIdx.y * of.bags + bag;
  const std::int64_t first_row = of.tables[blockIdx.y].first_row;
  for (std::int64_t i = of.offsets[of_all] + group.lane; i < of.offsets[of_all + 1]; i += group.lanes) {
    keys[i] = static_cast<std::uint64_t>(first_row + indices[i]);
    values[i] = static_cast<std::uint32_t>(of_all);
  }
}

// A group per row of the table.
template <typename T, int width>
__global__ void dense_kernel(TableView table, T* arena, float* state, const float* gradients, OptimizerStep step) {
  const Group group(lanes_of<width>(table.dim));
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (kThreads / group.lanes) + group.number;
  if (row >= table.rows) return;
  const float* const of_row = gradients + row * table.dim;
  const auto gradient_of = [&](int c, float(&gradient)[width]) { load<width>(of_row + c, gradient); };
  update_row<width>(row_update(table, row, arena, state, step), step, group, gradient_of);
}

template <typename T, int width>
void launch_dense(const TableView& table, void* arena, float* state, const float* gradients,
                  const OptimizerSettings& settings, Stream stream) {
  launch("update of replicated rows", dense_kernel<T, width>,
         {blocks_for(table.rows, kThreads / lanes_of<width>(table.dim))}, stream, table, static_cast<T*>(arena), state,
         gradients, optimizer_step(settings));
}

template <typename T>
void run_dense(const TableView& table, void* arena, float* state, const float* gradients,
               const OptimizerSettings& settings, Stream stream) {
  in_fours(table.dim % 4 == 0, arena, state, gradients)
      ? launch_dense<T, 4>(table, arena, state, gradients, settings, stream)
      : launch_dense<T, 1>(table, arena, state, gradients, settings, stream);
}

}  // namespace

void update_rows(ElementType type, std::int64_t rows, std::int64_t dim, void* arena, float* state,
                 const std::int64_t* indices, std::int64_t count, const float* gradients,
                 const OptimizerSettings& settings, const UpdateWorkspace& workspace, Stream stream) {
  if (count == 0) return;
  check(cudaMemsetAsync(workspace.part_counts, 0, 2 * sizeof(std::uint32_t), stream), "an update");
  const WindowedTables one{nullptr, {rows, dim, 0, 0, 0, 0}, 1, 0, nullptr, nullptr, count};
  const auto* const keys = reinterpret_cast<const std::uint64_t*>(indices);
  const bool fours = in_fours(dim % 4 == 0, arena, state, gradients);
  updater_of(type)({one, {gradients, dim}, dim, fours, keys, workspace.numbers, rows}, arena, state, settings,
                   workspace, stream);
}

void update_pooled(const DeviceTables& tables, void* arena, float* state, const std::int64_t* indices,
                   std::int64_t count, const std::int64_t* offsets, const float* gradients,
                   const OptimizerSettings& settings, const UpdateWorkspace& workspace, Stream stream) {
  if (count == 0) return;
  const WindowedTables of{tables.views(), {}, tables.tables(), tables.bags(), offsets, workspace.windows, count};
  const bool fours = in_fours(tables.four_columns(), arena, state, gradients);
  launch("keys of lookups", fours ? expand_bags_kernel<4> : expand_bags_kernel<1>,
         {blocks_for(tables.bags(), kThreads / kLanesOfBag), tables.tables()}, stream, of, indices, workspace.keys,
         workspace.values, workspace.windows, workspace.part_counts);
  updater_of(tables.type())({of,
                             {gradients, tables.output_dim()},
                             tables.largest_dim(),
                             fours,
                             workspace.keys,
                             workspace.values,
                             tables.rows()},
                            arena, state, settings, workspace, stream);
}

void update_dense(ElementType type, std::int64_t rows, std::int64_t dim, void* arena, float* state,
                  const float* gradients, const OptimizerSettings& settings, Stream stream) {
  const auto launcher = type == ElementType::fp32   ? run_dense<float>
                        : type == ElementType::fp16 ? run_dense<__half>
                                                    : run_dense<__nv_bfloat16>;
  launcher({rows, dim, 0, 0, 0, 0}, arena, state, gradients, settings, stream);
}

}  // namespace shardsim::cuda
