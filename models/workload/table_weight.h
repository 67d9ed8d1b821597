#pragma once

#include <cstddef>

#include "models/workload/workload.h"

namespace shardsim {

// The memory that a table takes, counted in numbers: the table itself, its features, and what its access distribution
// lists. The numbers of tables, copies, features and cases have limits of their own; this one limits all of them
// together, so that they take a few GB at most.
std::size_t weight_of(const Table& table);
// The same of a table that lists no rows.
std::size_t weight_of_features(std::size_t features);
inline constexpr std::size_t kMostTableWeight = 25'000'000;

}  // namespace shardsim
