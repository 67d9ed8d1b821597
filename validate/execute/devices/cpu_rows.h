#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "validate/execute/fusion/rank_rows.h"
#include "validate/execute/kernels/embedding.h"

namespace shardsim {

// Floats that hold so many bytes.
inline std::size_t floats(std::int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + 3) / 4;
}

// Fills rows with some numbers: any values that are numbers will do.
void fill_rows(std::vector<std::byte>& arena, ElementType type, std::uint64_t seed);

// Rows of fp32, the only ones that are compared: those of a shard (none where the rank holds none of it), and others in
// their place.
std::vector<float> rows_of(const std::vector<std::byte>& arena, const RankRows& held, int shard);
void put_rows(std::vector<std::byte>& arena, const RankRows& held, int shard, const std::vector<float>& rows);

}  // namespace shardsim
