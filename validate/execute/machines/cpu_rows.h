#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "validate/execute/kernels/embedding.h"

namespace shardsim {

// Floats that hold so many bytes.
inline std::size_t floats(std::int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + 3) / 4;
}

// Fills rows with some numbers: any values that are numbers will do.
void fill_rows(std::vector<std::byte>& arena, ElementType type, std::uint64_t seed);

// `count` ids from one width to another.
template <typename From, typename To>
void convert_ids(const void* from, void* to, std::size_t count) {
  const From* in = static_cast<const From*>(from);
  std::transform(in, in + count, static_cast<To*>(to), [](From value) { return static_cast<To>(value); });
}

}  // namespace shardsim
