#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "validate/execute/kernels/cuda_embedding.h"
#include "validate/execute/kernels/cuda_launch.h"
#include "validate/execute/kernels/cuda_optimizer.h"
#include "validate/execute/kernels/cuda_runs.h"

namespace shardsim::cuda {
namespace {

constexpr std::size_t kSharedBytes = 48 * 1024;  // what every GPU gives a block without asking
constexpr std::int64_t kBlocksPerMultiprocessor = 8;

// Gradients by what was sorted along with the keys: the number of the bag over all tables, or of the gathered row.
struct Gradients {
  const float* values;
  std::int64_t pitch;       // elements from one row of gradients to the next
  std::uint32_t bags;       // per table
  const TableView* tables;  // null: there is only `one`
  TableView one;

  __device__ TableView table_of(std::uint32_t value) const { return tables == nullptr ? one : tables[value / bags]; }
  // The gradient block of this table in the first row; to be moved by `pitch` per bag.
  __device__ const float* block_of(std::uint32_t value, const TableView& table) const {
    const std::int64_t first = static_cast<std::int64_t>(value / bags) * bags;
    return values - first * pitch + table.column;
  }
};

// The arguments that the kernels of an update share.
template <typename T>
struct Update {
  Runs runs;
  Gradients gradients;
  OptimizerStep step;
  T* arena;
  float* state;
  float* partial_sums;  // [2 x tiles][partial_dim]: of the long run that reaches into a tile, and of the one from it
  std::int64_t partial_dim;
};

// Sums the gradient columns of this thread over positions [first, end) of one run, into to[dim].
template <int width>
__device__ void sum_positions(const Runs& runs, const Gradients& gradients, std::int64_t first, std::int64_t end,
                              float* to) {
  const TableView table = gradients.table_of(runs.values[first]);
  const float* const block = gradients.block_of(runs.values[first], table);
  for (std::int64_t c = static_cast<std::int64_t>(threadIdx.x) * width; c < table.dim; c += blockDim.x * width) {
    float sum[width] = {};
    add_rows<width>(
        first, end, [&](std::int64_t p) { return block + runs.values[p] * gradients.pitch + c; }, sum);
    store<width>(sum, to + c);
  }
}

// Updates the row of one run with its gradient.
template <int width, typename T>
__device__ void apply(const Update<T>& update, std::int64_t first_position, const float* gradient) {
  const TableView table = update.gradients.table_of(update.runs.values[first_position]);
  const auto row = static_cast<std::int64_t>(update.runs.keys[first_position]) - table.first_row;
  update_row<width>(row_update(table, row, update.arena, update.state, gradient), update.step);
}

// One row of threads per run; the long ones are left to the two kernels below.
template <typename T, int width>
__global__ void short_runs_kernel(Update<T> update) {
  extern __shared__ float4 shared[];
  float* const sum = reinterpret_cast<float*>(shared) + threadIdx.y * update.partial_dim;
  const std::int64_t runs = *update.runs.number;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
  for (std::int64_t run = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; run < runs; run += step) {
    if (update.runs.is_long(run)) continue;
    const std::int64_t first = update.runs.start(run);
    sum_positions<width>(update.runs, update.gradients, first, update.runs.end(run), sum);
    apply<width>(update, first, sum);  // every thread reads only the columns that it wrote
  }
}

// One row of threads per tile.
template <int width>
__global__ void long_parts_kernel(Runs runs, Gradients gradients, float* partial_sums, std::int64_t partial_dim) {
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const std::int64_t first = tile * kLongRun;
  if (first >= runs.lookups) return;
  float* const sums = partial_sums + 2 * tile * partial_dim;
  const std::int64_t into = runs.long_run_into(first);
  if (into >= 0) {
    const std::int64_t end = runs.end(into) < first + kLongRun ? runs.end(into) : first + kLongRun;
    sum_positions<width>(runs, gradients, first, end, sums);
  }
  const std::int64_t from = runs.long_run_from(first);
  if (from >= 0) sum_positions<width>(runs, gradients, runs.start(from), first + kLongRun, sums + partial_dim);
}

// Sums every blockDim.y-th part of a long run, from number threadIdx.y on. Part 0 is in the tile where the run begins.
template <int width>
__device__ void sum_parts(const float* partial_sums, std::int64_t partial_dim, std::int64_t tile, std::int64_t parts,
                          std::int64_t dim, float* to) {
  for (std::int64_t c = static_cast<std::int64_t>(threadIdx.x) * width; c < dim; c += blockDim.x * width) {
    float sum[width] = {};
    for (std::int64_t part = threadIdx.y; part < parts; part += blockDim.y) {
      add<width>(partial_sums + (2 * (tile + part) + (part == 0 ? 1 : 0)) * partial_dim + c, sum);
    }
    store<width>(sum, to + c);
  }
}

// Adds the sums of the other rows of threads to those of the first.
template <int width>
__device__ void add_up(float* sums, std::int64_t pitch, std::int64_t dim) {
  for (std::int64_t c = static_cast<std::int64_t>(threadIdx.x) * width; c < dim; c += blockDim.x * width) {
    float sum[width] = {};
    for (unsigned y = 0; y < blockDim.y; ++y) add<width>(sums + y * pitch + c, sum);
    store<width>(sum, sums + c);
  }
}

// One block per tile: the long run that begins in it, if one does.
template <typename T, int width>
__global__ void long_runs_kernel(Update<T> update) {
  extern __shared__ float4 shared[];
  float* const sums = reinterpret_cast<float*>(shared);
  const std::int64_t tile = blockIdx.x;
  const std::int64_t run = update.runs.long_run_from(tile * kLongRun);
  if (run < 0) return;  // of the whole block
  const std::int64_t first = update.runs.start(run);
  const std::int64_t dim = update.gradients.table_of(update.runs.values[first]).dim;
  const std::int64_t parts = (update.runs.end(run) - 1) / kLongRun - tile + 1;
  sum_parts<width>(update.partial_sums, update.partial_dim, tile, parts, dim, sums + threadIdx.y * update.partial_dim);
  __syncthreads();
  if (threadIdx.y > 0) return;
  add_up<width>(sums, update.partial_dim, dim);
  apply<width>(update, first, sums);
}

// A block of rows of threads each of which has room for `dim` sums in shared memory.
Shape shape_with_sums(std::int64_t dim, int width) {
  const unsigned lanes = lanes_for(blocks_for(dim, width));
  const auto row_bytes = static_cast<std::size_t>(dim) * sizeof(float);
  const auto rows = static_cast<unsigned>(std::min<std::size_t>(kThreads / lanes, kSharedBytes / row_bytes));
  return {1, 1, dim3(lanes, rows), rows * row_bytes};
}

template <typename T, int width>
void launch_update(const Update<T>& update, Stream stream) {
  const std::int64_t tiles = blocks_for(update.runs.lookups, kLongRun);
  Shape shape = shape_with_sums(update.partial_dim, width);
  shape.blocks = std::min<std::int64_t>(blocks_for(update.runs.lookups, shape.threads.y),
                                        kBlocksPerMultiprocessor * multiprocessors());
  launch("update of rows", short_runs_kernel<T, width>, shape, stream, update);
  const dim3 block = row_block(lanes_for(blocks_for(update.partial_dim, width)));
  launch("sums of a hot row", long_parts_kernel<width>, {blocks_for(tiles, block.y), 1, block, 0}, stream, update.runs,
         update.gradients, update.partial_sums, update.partial_dim);
  shape.blocks = tiles;
  launch("update of a hot row", long_runs_kernel<T, width>, shape, stream, update);
}

bool aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

struct UpdateCall {
  Gradients gradients;
  std::int64_t dim;  // largest
  bool four_columns;
  const std::uint64_t* keys;
  const std::uint32_t* values;
  std::int64_t count;
  std::int64_t rows;
};

template <typename T>
void run_update(const UpdateCall& call, void* arena, float* state, const OptimizerSettings& settings,
                const UpdateWorkspace& workspace, Stream stream) {
  if (call.count == 0) return;
  const int bits = std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(call.rows - 1))));
  sort_lookups(call.keys, call.values, call.count, bits, workspace, stream);
  const Runs runs{workspace.sorted_keys, workspace.sorted_values, workspace.starts, workspace.runs, call.count};
  const Update<T> update{
      runs, call.gradients, optimizer_step(settings), static_cast<T*>(arena), state, workspace.partial_sums, call.dim};
  const bool in_fours = call.four_columns && aligned(arena) && aligned(call.gradients.values) && aligned(state);
  in_fours ? launch_update<T, 4>(update, stream) : launch_update<T, 1>(update, stream);
}

auto updater_of(ElementType type) {
  return type == ElementType::fp32   ? run_update<float>
         : type == ElementType::fp16 ? run_update<__half>
                                     : run_update<__nv_bfloat16>;
}

UpdateCall call_of_rows(std::int64_t rows, std::int64_t dim, const std::int64_t* indices, std::int64_t count,
                        const float* gradients, const UpdateWorkspace& workspace) {
  const TableView table{rows, dim, 0, 0, 0, 0};
  const Gradients from{gradients, dim, static_cast<std::uint32_t>(std::max<std::int64_t>(count, 1)), nullptr, table};
  return {from, dim, dim % 4 == 0, reinterpret_cast<const std::uint64_t*>(indices), workspace.numbers, count, rows};
}

// Keys and bags of all lookups; one row of threads per bag.
__global__ void expand_bags_kernel(const TableView* tables, std::int64_t bags, const std::int64_t* indices,
                                   const std::int64_t* offsets, std::uint64_t* keys, std::uint32_t* values) {
  const std::int64_t bag = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (bag >= bags) return;
  const std::int64_t of_all = blockIdx.y * bags + bag;
  const std::int64_t first_row = tables[blockIdx.y].first_row;
  for (std::int64_t i = offsets[of_all] + threadIdx.x; i < offsets[of_all + 1]; i += blockDim.x) {
    keys[i] = static_cast<std::uint64_t>(first_row + indices[i]);
    values[i] = static_cast<std::uint32_t>(of_all);
  }
}

// One row of threads per row of the table.
template <typename T, int width>
__global__ void dense_kernel(TableView table, T* arena, float* state, const float* gradients, OptimizerStep step) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= table.rows) return;
  update_row<width>(row_update(table, row, arena, state, gradients + row * table.dim), step);
}

template <typename T>
void run_dense(const TableView& table, void* arena, float* state, const float* gradients,
               const OptimizerSettings& settings, Stream stream) {
  const bool in_fours = table.dim % 4 == 0 && aligned(arena) && aligned(gradients) && aligned(state);
  const dim3 block = row_block(lanes_for(in_fours ? table.dim / 4 : table.dim));
  launch("update of replicated rows", in_fours ? dense_kernel<T, 4> : dense_kernel<T, 1>,
         {blocks_for(table.rows, block.y), 1, block, 0}, stream, table, static_cast<T*>(arena), state, gradients,
         optimizer_step(settings));
}

}  // namespace

OptimizerStep optimizer_step(const OptimizerSettings& settings) {
  if (settings.optimizer == RowOptimizer::adam && settings.step < 1) {
    throw input_error({}, "adam counts its steps from 1", "Give a step of 1 or more");
  }
  const double correction1 = 1 - std::pow(static_cast<double>(settings.beta1), settings.step);
  const double correction2 = 1 - std::pow(static_cast<double>(settings.beta2), settings.step);
  return {settings.optimizer,
          settings.learning_rate,
          settings.epsilon,
          settings.beta1,
          settings.beta2,
          static_cast<float>(correction1),
          static_cast<float>(correction2)};
}

void update_rows(ElementType type, std::int64_t rows, std::int64_t dim, void* arena, float* state,
                 const std::int64_t* indices, std::int64_t count, const float* gradients,
                 const OptimizerSettings& settings, const UpdateWorkspace& workspace, Stream stream) {
  updater_of(type)(call_of_rows(rows, dim, indices, count, gradients, workspace), arena, state, settings, workspace,
                   stream);
}

void update_pooled(const DeviceTables& tables, void* arena, float* state, const std::int64_t* indices,
                   std::int64_t count, const std::int64_t* offsets, const float* gradients,
                   const OptimizerSettings& settings, const UpdateWorkspace& workspace, Stream stream) {
  if (count == 0) return;
  const Gradients from{gradients, tables.output_dim(), static_cast<std::uint32_t>(tables.bags()), tables.views(), {}};
  const UpdateCall call{from,  tables.largest_dim(), tables.four_columns(), workspace.keys, workspace.values,
                        count, tables.rows()};
  const dim3 block = row_block(8);
  launch("keys of lookups", expand_bags_kernel, {blocks_for(tables.bags(), block.y), tables.tables(), block, 0}, stream,
         tables.views(), tables.bags(), indices, offsets, workspace.keys, workspace.values);
  updater_of(tables.type())(call, arena, state, settings, workspace, stream);
}

void update_dense(ElementType type, std::int64_t rows, std::int64_t dim, void* arena, float* state,
                  const float* gradients, const OptimizerSettings& settings, Stream stream) {
  const auto launcher = type == ElementType::fp32   ? run_dense<float>
                        : type == ElementType::fp16 ? run_dense<__half>
                                                    : run_dense<__nv_bfloat16>;
  launcher({rows, dim, 0, 0, 0, 0}, arena, state, gradients, settings, stream);
}

}  // namespace shardsim::cuda
