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
inline RandomBatch aligned_batch(ElementType type, std::uint64_t seed, const std::vector<std::int64_t>& dims,
                                 std::uint64_t longest = 12) {
  RandomBatch batch = random_batch(type, seed, dims, longest);
  Rng rng(seed + 99);
  batch.elements = 0;
  for (std::size_t t = 0; t < dims.size(); ++t) {
    batch.tables.begin[t] = batch.elements;
    batch.elements += (batch.tables.rows[t] * dims[t] + 15) / 8 * 8;
  }
  fill_arena(batch, rng);
  return batch;
}

// The same without lookups of every second table.
inline RandomBatch half_empty_batch(ElementType type, std::uint64_t seed, const std::vector<std::int64_t>& dims) {
  RandomBatch batch = aligned_batch(type, seed, dims);
  const std::vector<std::int64_t> indices = std::move(batch.indices), offsets = std::move(batch.offsets);
  batch.indices.clear();
  batch.offsets.assign(1, 0);
  for (std::int64_t bag = 0; bag + 1 < static_cast<std::int64_t>(offsets.size()); ++bag) {
    for (std::int64_t i = offsets[bag]; bag / batch.tables.bags % 2 == 1 && i < offsets[bag + 1]; ++i)
      batch.indices.push_back(indices[i]);
    batch.offsets.push_back(static_cast<std::int64_t>(batch.indices.size()));
  }
  return batch;
}

}  // namespace shardsim
