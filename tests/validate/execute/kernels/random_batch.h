#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "validate/execute/kernels/embedding.h"

namespace shardsim {

// A random call of the embedding kernels: tables of unequal sizes, about a third of the bags empty, every table's last
// and first row among the indices, one row repeated through whole bags.
struct RandomBatch {
  TableBatch tables;
  std::vector<std::byte> arena;
  std::int64_t elements = 0;
  std::vector<std::int64_t> indices, offsets;
  std::vector<float> gradients;  // [bags][output_dim]
};

inline float small_real(Rng& rng) {
  return static_cast<float>(rng.uniform() * 2 - 1);
}

// Any finite number of the type with an exponent near 0, bit by bit, so that no conversion of ours is trusted.
inline void fill_arena(RandomBatch& batch, Rng& rng) {
  const int bytes = element_bytes(batch.tables.type);
  batch.arena.resize(static_cast<std::size_t>(batch.elements * bytes));
  for (std::int64_t i = 0; i < batch.elements; ++i) {
    std::uint64_t bits = rng.next();
    const std::uint64_t low = rng.below(8);
    if (batch.tables.type == ElementType::fp32) bits = (bits & 0x807fffffU) | (120 + low) << 23;
    if (batch.tables.type == ElementType::bf16) bits = (bits & 0x807fU) | (120 + low) << 7;
    if (batch.tables.type == ElementType::fp16) bits = (bits & 0x83ffU) | (8 + low) << 10;
    if (rng.below(16) == 0) bits &= 0x8000U;  // zeros of both signs
    for (int b = 0; b < bytes; ++b) batch.arena[i * bytes + b] = static_cast<std::byte>(bits >> 8 * b & 255U);
  }
}

inline void draw_bag(RandomBatch& batch, Rng& rng, std::int64_t rows, std::uint64_t longest) {
  const std::uint64_t kind = rng.below(6);
  const std::uint64_t length = kind < 2 ? 0 : rng.below(longest);
  const auto repeated = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(rows)));
  for (std::uint64_t i = 0; i < length; ++i) {
    std::int64_t index = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(rows)));
    if (kind == 3) index = repeated;
    if (kind == 4 && i % 3 == 0) index = rows - 1;
    if (kind == 4 && i % 3 == 1) index = 0;
    batch.indices.push_back(index);
  }
}

inline RandomBatch random_batch(ElementType type, std::uint64_t seed, std::vector<std::int64_t> dims = {4, 1, 67, 32},
                                std::uint64_t longest = 12) {
  Rng rng(seed);
  RandomBatch batch;
  batch.tables.type = type;
  batch.tables.bags = 37;
  batch.elements = 3;  // an arena that does not begin with the first table
  for (const std::int64_t dim : dims) {
    batch.tables.rows.push_back(static_cast<std::int64_t>(1 + rng.below(60)));
    batch.tables.dim.push_back(dim);
    batch.tables.begin.push_back(batch.elements);
    batch.elements += batch.tables.rows.back() * dim + 5;
  }
  fill_arena(batch, rng);
  batch.offsets.push_back(0);
  for (const std::int64_t rows : batch.tables.rows)
    for (std::int64_t bag = 0; bag < batch.tables.bags; ++bag) {
      draw_bag(batch, rng, rows, longest);
      batch.offsets.push_back(static_cast<std::int64_t>(batch.indices.size()));
    }
  for (std::int64_t i = 0; i < batch.tables.bags * batch.tables.output_dim(); ++i)
    batch.gradients.push_back(small_real(rng));
  return batch;
}

inline constexpr ElementType kElementTypes[] = {ElementType::fp32, ElementType::fp16, ElementType::bf16};

}  // namespace shardsim
