#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "validate/execute/kernels/cpu_kernels.h"
#include "validate/execute/kernels/element.h"
#include "validate/execute/kernels/parallel.h"

namespace shardsim {
namespace {

constexpr std::int64_t kRowsAhead = 32;  // rows asked of memory before they are needed

[[noreturn]] void refuse_index() {
  throw std::out_of_range("an index is outside its table");
}

// The index is not checked yet: the address is only a hint to the memory.
SHARDSIM_IN_CLONES void prefetch_row(const void* table, std::int64_t index, std::int64_t row_bytes) {
  const std::uintptr_t row = reinterpret_cast<std::uintptr_t>(table) +
                             static_cast<std::uintptr_t>(index) * static_cast<std::uintptr_t>(row_bytes);
  const std::uintptr_t end = row + static_cast<std::uintptr_t>(row_bytes);
  for (std::uintptr_t line = row - row % kCacheLine; line < end; line += kCacheLine)
    // The second-level cache queues more. NOLINTNEXTLINE(performance-no-int-to-ptr): nobody reads there
    __builtin_prefetch(reinterpret_cast<const void*>(line), 0, 2);
}

// Bags [first, end) of one table.
template <typename Element>
struct BagRange {
  const Element* table;
  std::int64_t rows, dim;
  const std::int64_t* indices;
  std::int64_t index_count;     // in the whole call: what may be looked at ahead
  const std::int64_t* offsets;  // of bag 0 of this table
  std::int64_t first, end;
  float* out;  // of bag 0
  std::int64_t out_stride;
};

template <typename Element>
SHARDSIM_IN_CLONES void add_row(float* __restrict sum, const Element* __restrict row, std::int64_t dim) {
  for (std::int64_t c = 0; c < dim; ++c) sum[c] += widened(row[c]);
}

template <typename Element>
SHARDSIM_IN_CLONES void sum_bags(const BagRange<Element>& range) {
  const std::int64_t row_bytes = range.dim * static_cast<std::int64_t>(sizeof(Element));
  const std::int64_t ahead_end = std::min(range.offsets[range.end], range.index_count);
  for (std::int64_t bag = range.first; bag < range.end; ++bag) {
    float* const sum = range.out + bag * range.out_stride;
    std::fill_n(sum, range.dim, 0.0F);
    for (std::int64_t i = range.offsets[bag]; i < range.offsets[bag + 1]; ++i) {
      if (i + kRowsAhead < ahead_end) prefetch_row(range.table, range.indices[i + kRowsAhead], row_bytes);
      const auto index = static_cast<std::uint64_t>(range.indices[i]);
      if (index >= static_cast<std::uint64_t>(range.rows)) refuse_index();
      add_row(sum, range.table + static_cast<std::int64_t>(index) * range.dim, range.dim);
    }
  }
}

SHARDSIM_VECTOR_CLONES void sum_range(const BagRange<float>& range) {
  sum_bags(range);
}
SHARDSIM_VECTOR_CLONES void sum_range(const BagRange<Half>& range) {
  sum_bags(range);
}
SHARDSIM_VECTOR_CLONES void sum_range(const BagRange<Brain>& range) {
  sum_bags(range);
}

// Returns the first bag of part `part` of `parts`, counted over the bags of all tables: parts are equal in bags plus
// indices.
std::int64_t first_bag(std::span<const std::int64_t> offsets, int part, int parts) {
  const auto bags = static_cast<std::int64_t>(offsets.size()) - 1;
  const std::int64_t wanted = (offsets[bags] - offsets[0] + bags) * part / parts;
  std::int64_t low = 0, high = bags;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (offsets[middle] - offsets[0] + middle < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void check_offsets(const TableBatch& tables, std::span<const std::int64_t> indices,
                   std::span<const std::int64_t> offsets) {
  const bool complete = offsets.size() == static_cast<std::size_t>(tables.tables() * tables.bags + 1);
  const bool inside = complete && offsets.front() >= 0 && offsets.back() <= static_cast<std::int64_t>(indices.size());
  if (!inside || !std::ranges::is_sorted(offsets)) throw std::out_of_range("offsets do not fit the indices");
}

template <typename Element>
void lookup_part(const TableBatch& tables, const Element* arena, std::span<const std::int64_t> indices,
                 std::span<const std::int64_t> offsets, float* out, std::int64_t first, std::int64_t end) {
  const std::int64_t stride = tables.output_dim();
  for (int t = 0; t < tables.tables(); ++t) {
    const std::int64_t bag0 = t * tables.bags;
    const std::int64_t from = std::clamp<std::int64_t>(first - bag0, 0, tables.bags);
    const std::int64_t to = std::clamp<std::int64_t>(end - bag0, 0, tables.bags);
    if (from < to)
      sum_range(BagRange<Element>{arena + tables.begin[t], tables.rows[t], tables.dim[t], indices.data(),
                                  static_cast<std::int64_t>(indices.size()), offsets.data() + bag0, from, to, out,
                                  stride});
    out += tables.dim[t];
  }
}

template <typename Element>
void lookup_typed(const TableBatch& tables, const void* arena, std::span<const std::int64_t> indices,
                  std::span<const std::int64_t> offsets, float* out, int threads) {
  const int parts = std::max(threads, 1);
  run_parts(parts, [&](int part) {
    lookup_part(tables, static_cast<const Element*>(arena), indices, offsets, out, first_bag(offsets, part, parts),
                first_bag(offsets, part + 1, parts));
  });
}

}  // namespace

void pooled_lookup(const TableBatch& tables, const void* arena, std::span<const std::int64_t> indices,
                   std::span<const std::int64_t> offsets, float* out, int threads) {
  check_offsets(tables, indices, offsets);
  if (tables.type == ElementType::fp32) return lookup_typed<float>(tables, arena, indices, offsets, out, threads);
  if (tables.type == ElementType::fp16) return lookup_typed<Half>(tables, arena, indices, offsets, out, threads);
  lookup_typed<Brain>(tables, arena, indices, offsets, out, threads);
}

void gather_rows(ElementType type, std::int64_t rows, std::int64_t dim, const void* arena,
                 std::span<const std::int64_t> indices, void* out, int threads) {
  const std::int64_t row_bytes = dim * element_bytes(type);
  const auto* const table = static_cast<const char*>(arena);
  auto* const to = static_cast<char*>(out);
  run_intervals(static_cast<std::int64_t>(indices.size()), threads, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) {
      if (i + kRowsAhead < end) prefetch_row(table, indices[i + kRowsAhead], row_bytes);
      if (static_cast<std::uint64_t>(indices[i]) >= static_cast<std::uint64_t>(rows)) refuse_index();
      std::memcpy(to + i * row_bytes, table + indices[i] * row_bytes, static_cast<std::size_t>(row_bytes));
    }
  });
}

}  // namespace shardsim
