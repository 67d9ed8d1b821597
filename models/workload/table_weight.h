#pragma once

#include <cstddef>

#include "models/workload/workload.h"

namespace shardsim {

// What a table takes in memory, in numbers: itself, its features, and what its law of accesses lists. Limits of tables,
// copies, features and cases hold singly; the most of this is what they may come to together, some GB.
std::size_t weight_of(const Table& table);
inline constexpr std::size_t kMostTableWeight = 25'000'000;

}  // namespace shardsim
