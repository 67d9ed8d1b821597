#include <algorithm>
#include <stdexcept>
#include <vector>

#include "validate/execute/kernels/cpu_kernels.h"
#include "validate/execute/kernels/parallel.h"
#include "validate/execute/kernels/row_update.h"

namespace shardsim {
namespace {

constexpr std::size_t kTouchedAhead = 8;  // touched rows asked of memory before they are needed

// One table of a call, where its rows and states lie.
struct TableMemory {
  ElementType type = ElementType::fp32;
  std::int64_t first_row = 0;  // running number
  std::int64_t rows = 0, dim = 0;
  char* arena = nullptr;
  float* state = nullptr;

  char* row(std::int64_t local) const { return arena + local * dim * element_bytes(type); }
  void update(std::int64_t local, const float* gradient, const RowStep& step) const {
    const bool whole_rows = step.settings.optimizer == RowOptimizer::adam;
    float* const first = state == nullptr ? nullptr : state + local * (whole_rows ? dim : 1);
    float* const second = whole_rows ? first + rows * dim : nullptr;
    update_row(type, row(local), dim, gradient, first, second, step);
  }
};

void add_to(float* __restrict sum, const float* __restrict values, std::int64_t count) {
  for (std::int64_t c = 0; c < count; ++c) sum[c] += values[c];
}

std::int64_t checked(std::int64_t index, std::int64_t rows) {
  if (static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(rows)) return index;
  throw std::out_of_range("an index is outside its table");
}

// The rows of one thread, in rising order, each with the sum of its gradients.
class RowUpdates {
 public:
  RowUpdates(const std::vector<TableMemory>& tables, const float* gradients, const RowStep& step)
      : tables_(tables), gradients_(gradients), step_(step) {}

  void apply(const std::vector<TouchedRow>& touched) {
    for (std::size_t at = 0; at < touched.size();) {
      while (touched[at].row >= table().first_row + table().rows) ++table_;
      prefetch(touched, at + kTouchedAhead);
      at = apply_row(touched, at);
    }
  }

 private:
  const TableMemory& table() const { return tables_[table_]; }

  void prefetch(const std::vector<TouchedRow>& touched, std::size_t at) const {
    if (at >= touched.size() || touched[at].row >= table().first_row + table().rows) return;
    const char* const row = table().row(touched[at].row - table().first_row);
    const std::int64_t bytes = table().dim * element_bytes(table().type);
    for (std::int64_t line = 0; line < bytes; line += kCacheLine) __builtin_prefetch(row + line, 1);
    const auto* const gradient = reinterpret_cast<const char*>(gradients_ + touched[at].gradient);
    for (std::int64_t line = 0; line < 4 * table().dim; line += kCacheLine) __builtin_prefetch(gradient + line);
  }

  // The entries of one row from `at` on; returns where the next row's begin.
  std::size_t apply_row(const std::vector<TouchedRow>& touched, std::size_t at) {
    const std::int64_t row = touched[at].row;
    const float* gradient = gradients_ + touched[at].gradient;
    if (++at < touched.size() && touched[at].row == row) {
      sum_.assign(gradient, gradient + table().dim);
      for (; at < touched.size() && touched[at].row == row; ++at)
        add_to(sum_.data(), gradients_ + touched[at].gradient, table().dim);
      gradient = sum_.data();
    }
    table().update(row - table().first_row, gradient, step_);
    return at;
  }

  const std::vector<TableMemory>& tables_;
  const float* gradients_;
  const RowStep& step_;
  std::size_t table_ = 0;
  std::vector<float> sum_;
};

std::int64_t all_rows(const std::vector<TableMemory>& tables) {
  return tables.back().first_row + tables.back().rows;
}

// `collect(thread, touched)` lists what thread `thread` updates: rows whose running number leaves that remainder.
template <typename Collect>
void update_touched(const std::vector<TableMemory>& tables, const float* gradients, const OptimizerSettings& settings,
                    int threads, const Collect& collect) {
  const RowStep step(settings);
  run_parts(std::max(threads, 1), [&](int thread) {
    std::vector<TouchedRow> touched, scratch;
    collect(thread, touched);
    sort_by_row(touched, scratch, all_rows(tables));
    RowUpdates(tables, gradients, step).apply(touched);
  });
}

std::vector<TableMemory> memory_of(const TableBatch& tables, void* arena, float* state, RowOptimizer optimizer) {
  std::vector<TableMemory> memory;
  std::int64_t first_row = 0;
  for (int t = 0; t < tables.tables(); ++t) {
    char* const begin = static_cast<char*>(arena) + tables.begin[t] * element_bytes(tables.type);
    memory.push_back({tables.type, first_row, tables.rows[t], tables.dim[t], begin, state});
    first_row += tables.rows[t];
    if (state != nullptr) state += state_elements(optimizer, tables.rows[t], tables.dim[t]);
  }
  return memory;
}

}  // namespace

void scatter_add(std::int64_t rows, std::int64_t dim, std::span<const std::int64_t> indices, const float* gradients,
                 float* dense, int threads) {
  const int parts = std::max(threads, 1);
  run_parts(parts, [&](int part) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::int64_t row = checked(indices[i], rows);
      if (row % parts == part) add_to(dense + row * dim, gradients + static_cast<std::int64_t>(i) * dim, dim);
    }
  });
}

void update_rows(ElementType type, std::int64_t rows, std::int64_t dim, void* arena, float* state,
                 std::span<const std::int64_t> indices, const float* gradients, const OptimizerSettings& settings,
                 int threads) {
  const std::vector<TableMemory> tables{{type, 0, rows, dim, static_cast<char*>(arena), state}};
  const int parts = std::max(threads, 1);
  update_touched(tables, gradients, settings, parts, [&](int part, std::vector<TouchedRow>& touched) {
    touched.reserve(indices.size() / static_cast<std::size_t>(parts) + 1);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::int64_t row = checked(indices[i], rows);
      if (row % parts == part) touched.push_back({row, static_cast<std::int64_t>(i) * dim});
    }
  });
}

void update_pooled(const TableBatch& tables, void* arena, float* state, std::span<const std::int64_t> indices,
                   std::span<const std::int64_t> offsets, const float* gradients, const OptimizerSettings& settings,
                   int threads) {
  if (tables.tables() == 0) return;
  const std::vector<TableMemory> memory = memory_of(tables, arena, state, settings.optimizer);
  const std::int64_t stride = tables.output_dim();
  const int parts = std::max(threads, 1);
  update_touched(memory, gradients, settings, parts, [&](int part, std::vector<TouchedRow>& touched) {
    touched.reserve(indices.size() / static_cast<std::size_t>(parts) + 1);
    std::int64_t column = 0;
    for (int t = 0; t < tables.tables(); ++t) {
      for (std::int64_t bag = 0; bag < tables.bags; ++bag) {
        const std::int64_t gradient = bag * stride + column;
        for (std::int64_t i = offsets[t * tables.bags + bag]; i < offsets[t * tables.bags + bag + 1]; ++i) {
          const std::int64_t row = memory[t].first_row + checked(indices[i], tables.rows[t]);
          if (row % parts == part) touched.push_back({row, gradient});
        }
      }
      column += tables.dim[t];
    }
  });
}

void update_dense(ElementType type, std::int64_t rows, std::int64_t dim, void* arena, float* state,
                  const float* gradients, const OptimizerSettings& settings, int threads) {
  const TableMemory table{type, 0, rows, dim, static_cast<char*>(arena), state};
  const RowStep step(settings);
  run_intervals(rows, threads, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t row = first; row < end; ++row) table.update(row, gradients + row * dim, step);
  });
}

}  // namespace shardsim
