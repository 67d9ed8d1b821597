#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "validate/execute/kernels/cpu_kernels.h"
#include "validate/execute/kernels/element.h"
#include "validate/execute/kernels/parallel.h"

namespace shardsim {
namespace {

// One step of an optimizer over one row, with the summed gradient of that row.
struct RowStep {
  OptimizerSettings settings;
  float first_bias = 1, second_bias = 1;  // adam: 1 - beta^step

  explicit RowStep(const OptimizerSettings& of)
      : settings(of),
        first_bias(static_cast<float>(1 - std::pow(static_cast<double>(of.beta1), of.step))),
        second_bias(static_cast<float>(1 - std::pow(static_cast<double>(of.beta2), of.step))) {}
};

template <typename Element>
SHARDSIM_IN_CLONES void descend(Element* __restrict row, std::int64_t dim, const float* __restrict gradient,
                                float rate) {
  for (std::int64_t c = 0; c < dim; ++c) row[c] = narrowed<Element>(widened(row[c]) - rate * gradient[c]);
}

// In double, in order of the columns: the same on every processor, whatever it can add at once.
float mean_square(const float* gradient, std::int64_t dim) {
  double sum = 0;
  for (std::int64_t c = 0; c < dim; ++c) sum += static_cast<double>(gradient[c]) * gradient[c];
  return static_cast<float>(sum / static_cast<double>(dim));
}

SHARDSIM_IN_CLONES void move_averages(std::int64_t dim, const float* __restrict gradient, float* __restrict m,
                                      float* __restrict v, const RowStep& step) {
  const float keep1 = step.settings.beta1, keep2 = step.settings.beta2;
  for (std::int64_t c = 0; c < dim; ++c) {
    m[c] = keep1 * m[c] + (1 - keep1) * gradient[c];
    v[c] = keep2 * v[c] + (1 - keep2) * gradient[c] * gradient[c];
  }
}

template <typename Element>
SHARDSIM_IN_CLONES void adam(Element* __restrict row, std::int64_t dim, const float* __restrict m,
                             const float* __restrict v, const RowStep& step) {
  const float rate = step.settings.learning_rate / step.first_bias;
  for (std::int64_t c = 0; c < dim; ++c) {
    const float root = std::sqrt(v[c] / step.second_bias) + step.settings.epsilon;
    row[c] = narrowed<Element>(widened(row[c]) - rate * m[c] / root);
  }
}

template <typename Element>
SHARDSIM_IN_CLONES void adagrad(Element* __restrict row, std::int64_t dim, const float* __restrict gradient,
                                float* __restrict sums, const OptimizerSettings& settings) {
  for (std::int64_t c = 0; c < dim; ++c) {
    sums[c] += gradient[c] * gradient[c];
    const float root = std::sqrt(sums[c]) + settings.epsilon;
    row[c] = narrowed<Element>(widened(row[c]) - settings.learning_rate * gradient[c] / root);
  }
}

template <typename Element>
SHARDSIM_IN_CLONES void update_typed(Element* row, std::int64_t dim, const float* gradient, float* first, float* second,
                                     const RowStep& step) {
  if (step.settings.optimizer == RowOptimizer::adam) {
    move_averages(dim, gradient, first, second, step);
    return adam(row, dim, first, second, step);
  }
  if (step.settings.optimizer == RowOptimizer::adagrad) return adagrad(row, dim, gradient, first, step.settings);
  float rate = step.settings.learning_rate;
  if (step.settings.optimizer == RowOptimizer::rowwise_adagrad) {
    first[0] += mean_square(gradient, dim);
    rate /= std::sqrt(first[0]) + step.settings.epsilon;
  }
  descend(row, dim, gradient, rate);
}

SHARDSIM_VECTOR_CLONES void update_fp32(float* row, std::int64_t dim, const float* gradient, float* first,
                                        float* second, const RowStep& step) {
  update_typed(row, dim, gradient, first, second, step);
}
SHARDSIM_VECTOR_CLONES void update_fp16(Half* row, std::int64_t dim, const float* gradient, float* first, float* second,
                                        const RowStep& step) {
  update_typed(row, dim, gradient, first, second, step);
}
SHARDSIM_VECTOR_CLONES void update_bf16(Brain* row, std::int64_t dim, const float* gradient, float* first,
                                        float* second, const RowStep& step) {
  update_typed(row, dim, gradient, first, second, step);
}

// `first`, `second`: rowwise_adagrad: first[0] is the row's sum of mean squared gradients; adagrad: first[dim] are the
// sums of squared gradients; adam: first[dim] is m, second[dim] is v; sgd: neither.
//   sgd              w -= lr g
//   rowwise_adagrad  s += mean(g^2); w -= lr g / (sqrt(s) + eps)
//   adagrad          s += g^2; w -= lr g / (sqrt(s) + eps), column by column
//   adam             m, v as Kingma and Ba have them, of touched rows alone; w -= lr m^ / (sqrt(v^) + eps)
// as in FBGEMM's exact optimizers without weight decay (pytorch/FBGEMM, fbgemm_gpu/codegen/genscript/optimizers.py).
void update_row(ElementType type, void* row, std::int64_t dim, const float* gradient, float* first, float* second,
                const RowStep& step) {
  if (step.settings.optimizer == RowOptimizer::none) return;
  if (type == ElementType::fp32) return update_fp32(static_cast<float*>(row), dim, gradient, first, second, step);
  if (type == ElementType::fp16) return update_fp16(static_cast<Half*>(row), dim, gradient, first, second, step);
  update_bf16(static_cast<Brain*>(row), dim, gradient, first, second, step);
}

// A row that an update touches, and the gradient that one lookup of it brings.
struct TouchedRow {
  std::int64_t row = 0;       // running number over the tables of the call
  std::int64_t gradient = 0;  // its first element among the gradients
};

constexpr int kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
constexpr std::size_t kFew = 256;  // below, comparing beats counting

std::size_t digit(const TouchedRow& touched, int shift) {
  return static_cast<std::size_t>(touched.row >> shift) & (kDigits - 1);
}

void one_pass(const std::vector<TouchedRow>& from, std::vector<TouchedRow>& to, int shift) {
  std::array<std::size_t, kDigits> place{};
  for (const TouchedRow& touched : from) ++place[digit(touched, shift)];
  std::size_t before = 0;
  for (std::size_t& count : place) {
    const std::size_t begin = before;
    before += count;
    count = begin;
  }
  for (const TouchedRow& touched : from) to[place[digit(touched, shift)]++] = touched;
}

// By row; entries of one row keep their order. Radix sort: the time grows with the entries, not with their disorder.
// `scratch` grows and is overwritten. Rows are at least 0 and below `rows`.
void sort_by_row(std::vector<TouchedRow>& touched, std::vector<TouchedRow>& scratch, std::int64_t rows) {
  if (touched.size() < kFew) {
    std::ranges::stable_sort(touched, {}, &TouchedRow::row);
    return;
  }
  scratch.resize(touched.size());
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows)));
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    one_pass(touched, scratch, shift);
    touched.swap(scratch);
  }
}

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
    const RowOptimizer optimizer = step.settings.optimizer;
    const std::int64_t width = optimizer == RowOptimizer::rowwise_adagrad ? 1 : dim;
    float* const first = state == nullptr ? nullptr : state + local * width;
    float* const second = optimizer == RowOptimizer::adam ? first + rows * dim : nullptr;
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
