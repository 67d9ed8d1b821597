#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

// The embedding kernels of the validator and the micro-benchmark: what a CPU rank and a GPU both do, on plain memory.
// Indices and offsets are int64, as in FBGEMM's table-batched embedding. Elements of tables are fp32, fp16 or bf16;
// sums, gradients and optimizer states are fp32.

enum class ElementType { fp32, fp16, bf16 };

inline ElementType element_named(std::string_view dtype) {
  if (dtype == "fp16") return ElementType::fp16;
  return dtype == "bf16" ? ElementType::bf16 : ElementType::fp32;
}
inline int element_bytes(ElementType type) {
  return type == ElementType::fp32 ? 4 : 2;
}

// The precision of a matrix product: tf32 multiplies fp32 with ten bits of mantissa; sums are fp32 in all of them.
enum class Precision { fp32, tf32, bf16, fp16 };
inline ElementType elements_of(Precision precision) {
  if (precision == Precision::bf16) return ElementType::bf16;
  return precision == Precision::fp16 ? ElementType::fp16 : ElementType::fp32;
}

enum class RowOptimizer { none, sgd, rowwise_adagrad, adam, adagrad };

inline constexpr std::int64_t kCacheLine = 64;  // bytes

// Several tables in one arena, fused into one call: table t has rows[t] rows of dim[t] elements, the first one at
// element begin[t] of the arena. Bag b of table t has the indices [offsets[t * bags + b], offsets[t * bags + b + 1]).
struct TableBatch {
  ElementType type = ElementType::fp32;
  std::vector<std::int64_t> rows, dim, begin;  // [tables]
  std::int64_t bags = 0;                       // per table
  int tables() const { return static_cast<int>(rows.size()); }
  std::int64_t output_dim() const { return std::accumulate(dim.begin(), dim.end(), std::int64_t{0}); }
};

struct OptimizerSettings {
  RowOptimizer optimizer = RowOptimizer::sgd;
  float learning_rate = 0.01F;
  float epsilon = 1e-8F;
  float beta1 = 0.9F, beta2 = 0.999F;  // adam
  int step = 1;                        // adam: counts from 1
};

// Plain SGD of learning rate -1: into rows of zeros it adds gradients up.
inline OptimizerSettings summing_settings() {
  OptimizerSettings settings;
  settings.learning_rate = -1;
  return settings;
}

// State of an optimizer over `rows` rows of `dim`: sgd none; rowwise_adagrad one number per row (sum of the mean
// squared gradient); adagrad one per element (sum of the squared gradient); adam two per element (m, then v:
// [rows x dim] each).
inline std::size_t state_elements(RowOptimizer optimizer, std::int64_t rows, std::int64_t dim) {
  if (optimizer == RowOptimizer::rowwise_adagrad) return static_cast<std::size_t>(rows);
  if (optimizer == RowOptimizer::adagrad) return static_cast<std::size_t>(rows * dim);
  if (optimizer == RowOptimizer::adam) return static_cast<std::size_t>(2 * rows * dim);
  return 0;
}

}  // namespace shardsim
