#pragma once

#include <string>
#include <vector>

#include "tests/validate/execute/kernels/random_batch.h"

namespace shardsim {

inline const char* type_name(ElementType type) {
  return type == ElementType::fp32 ? "fp32" : type == ElementType::fp16 ? "fp16" : "bf16";
}

inline std::string dims_text(const std::vector<std::int64_t>& dims) {
  std::string text = "dims";
  for (const std::int64_t dim : dims) text += " " + std::to_string(dim);
  return text;
}

// Dims of the tables of one call: odd ones, whole vectors, one row as wide as a warp and more, both kinds at once.
inline std::vector<std::vector<std::int64_t>> dims_to_check() {
  return {{4, 1, 67, 32}, {64, 128, 256}, {4, 8}, {1}, {2, 6}, {10, 16}, {520}, {8, 1024, 3}};
}

// A random batch whose tables begin at whole vectors, as those of a machine do.
inline RandomBatch aligned_batch(ElementType type, std::uint64_t seed, const std::vector<std::int64_t>& dims) {
  RandomBatch batch = random_batch(type, seed, dims);
  Rng rng(seed + 99);
  batch.elements = 0;
  for (std::size_t t = 0; t < dims.size(); ++t) {
    batch.tables.begin[t] = batch.elements;
    batch.elements += (batch.tables.rows[t] * dims[t] + 15) / 8 * 8;
  }
  fill_arena(batch, rng);
  return batch;
}

}  // namespace shardsim
