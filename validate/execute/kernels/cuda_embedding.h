#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "validate/execute/kernels/cuda_memory.h"
#include "validate/execute/kernels/embedding.h"

namespace shardsim::cuda {

// The embedding kernels on a GPU (cpu_kernels.h has their CPU twins, with the same contracts). All pointers are of
// device memory; everything is launched on `stream` and nothing is allocated or waited for, so calls can be timed with
// events. Arenas, gradients and states start at a multiple of 16 bytes, as cudaMalloc gives them. Indices are not
// checked: one outside its table reads or writes foreign memory.
// Sizes are within the limits given: devices/gpu_limits.cpp refuses others before. Errors: Failure::run when a launch
// fails.

// The facts that the kernels need of one table of a batch.
struct TableView {
  std::int64_t rows = 0, dim = 0;
  std::int64_t begin = 0;          // first element, of the arena
  std::int64_t column = 0;         // first column, of the pooled output
  std::int64_t first_row = 0;      // rows of the tables before it
  std::int64_t first_element = 0;  // elements of the tables before it: of states
};

// A TableBatch whose description is in device memory. At most 65,535 tables; tables x bags below 2^32.
class DeviceTables {
 public:
  explicit DeviceTables(const TableBatch& tables);

  const TableView* views() const { return views_.as<TableView>(); }
  ElementType type() const { return type_; }
  std::int64_t bags() const { return bags_; }
  int tables() const { return static_cast<int>(host_.size()); }
  std::int64_t output_dim() const { return output_dim_; }
  std::int64_t rows() const { return rows_; }  // of all tables
  std::int64_t largest_dim() const { return largest_dim_; }
  bool four_columns() const;  // every row and column block is a whole number of aligned groups of four elements

  // The tables whose rows are whole aligned 16-byte vectors, and the others; and the blocks of a lookup that each
  // takes, by the width of its own rows.
  struct List {
    const int* tables = nullptr;            // numbers, in device memory
    const std::uint32_t* blocks = nullptr;  // [count + 1], in device memory: of the tables before
    int count = 0;
    std::int64_t all_blocks = 0;

    // The place in the list whose blocks hold `block`.
    __host__ __device__ int of_block(std::uint32_t block) const {
      int low = 0, high = count;
      while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (blocks[middle] <= block) {
          low = middle;
        } else {
          high = middle;
        }
      }
      return low;
    }
  };
  const List& in_vectors() const { return in_vectors_; }
  const List& in_elements() const { return in_elements_; }

 private:
  void place_tables(const TableBatch& tables);
  void sort_by_alignment();
  std::vector<std::uint32_t> blocks_of(const std::vector<int>& tables, int width) const;

  ElementType type_;
  std::int64_t bags_ = 0, output_dim_ = 0, rows_ = 0, largest_dim_ = 0;
  std::vector<TableView> host_;
  DeviceBuffer views_, lists_;
  List in_vectors_, in_elements_;
};

// out[b][sum of dims]: per bag and table the sum of its rows; an empty bag gives zeros. weights: one per index, by
// which its row is multiplied, or null.
void pooled_lookup(const DeviceTables& tables, const void* arena, const std::int64_t* indices,
                   const std::int64_t* offsets, float* out, Stream stream, const float* weights = nullptr);

// out[count][row_bytes]: row indices[i] of an arena of rows of row_bytes bytes (a multiple of 2).
void gather_rows(std::int64_t row_bytes, const void* arena, const std::int64_t* indices, std::int64_t count, void* out,
                 Stream stream);

constexpr std::int64_t kLongRun = 32;     // lookups of one row beyond which whole blocks sum them
constexpr std::int64_t kLongPart = 1024;  // that one block sums at most

// The memory for sorting and summing `indices` gradients of up to `dim` columns from up to `tables` tables, allocated
// once.
struct UpdateWorkspace {
  // indices below 2^31; dim at most 12,288: a row of fp32 sums in the 48 KiB that every GPU gives a block.
  UpdateWorkspace(std::int64_t indices, std::int64_t dim, int tables = 1);

  // Sorted positions [first, end): one of `parts` parts of a long run, and where sums of several parts meet.
  struct Part {
    std::uint32_t first, end, place, number, parts;
  };
  // Parts that so many lookups have at most, and places.
  static std::int64_t most_parts(std::int64_t lookups) { return lookups / (kLongRun + 1) + lookups / kLongPart + 1; }
  static std::int64_t most_places(std::int64_t lookups) { return 2 * (lookups / kLongPart + 1); }

  std::int64_t indices, dim;
  int tables;
  std::size_t sort_bytes;
  DeviceBuffer buffer;  // of all that follow
  // Keys and positions [indices] before and after sorting; numbers: 0, 1, 2 ...
  std::uint64_t *keys = nullptr, *sorted_keys = nullptr;
  std::uint32_t *numbers = nullptr, *values = nullptr, *sorted_values = nullptr;
  std::int64_t* windows = nullptr;  // [tables + 1]: see cuda_runs.h
  Part* parts = nullptr;            // of long runs, in any order
  std::uint32_t *part_counts = nullptr, *arrived = nullptr;
  float* partial_sums = nullptr;  // [places x dim]
  char* sort_memory = nullptr;    // what the sorting itself takes
};

// By CUB, in a file of their own because it takes longest to compile: device memory that sorting takes, and the sorting
// itself into the workspace, by the lowest `bits` bits of the keys. Equal keys keep their order.
std::size_t sorting_bytes(std::int64_t count);
void sort_pairs(const std::uint64_t* keys, const std::uint32_t* values, std::int64_t count, int bits,
                const UpdateWorkspace& workspace, Stream stream);

// Exact update after gather_rows: gradients of equal indices are summed in a fixed order (that of their positions;
// where an index comes more than kLongRun times, by groups of threads in turn whose sums are then added up), then each
// touched row is updated once: the same bits in every run. With summing_settings() they are added to what the rows
// have.
void update_rows(ElementType type, std::int64_t rows, std::int64_t dim, void* arena, float* state,
                 const std::int64_t* indices, std::int64_t count, const float* gradients,
                 const OptimizerSettings& settings, const UpdateWorkspace& workspace, Stream stream);

// The same after pooled_lookup: `count` indices in all.
void update_pooled(const DeviceTables& tables, void* arena, float* state, const std::int64_t* indices,
                   std::int64_t count, const std::int64_t* offsets, const float* gradients,
                   const OptimizerSettings& settings, const UpdateWorkspace& workspace, Stream stream);

// Every row updated with its dense gradient.
void update_dense(ElementType type, std::int64_t rows, std::int64_t dim, void* arena, float* state,
                  const float* gradients, const OptimizerSettings& settings, Stream stream);

// Elements from -0.5 to 0.5 that follow from their number and `seed` alone.
void fill(ElementType type, std::int64_t elements, std::uint64_t seed, void* arena, Stream stream);

}  // namespace shardsim::cuda
