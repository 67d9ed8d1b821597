#pragma once

#include <cstddef>
#include <cstdint>

#include "models/workload/workload.h"

namespace shardsim {

// Limits that hold for every workload, whether a file states it or it has grown since.

inline constexpr std::int64_t kMostBatchPerGpu = 1'000'000'000;  // samples

// Keeps every byte count of a run inside 63 bits. Errors: Failure::input at the table with which there are too many.
void check_sizes(const Workload& workload);

// The memory that a table takes, counted in numbers: the table itself, its features, and what its access distribution
// lists. The numbers of tables, copies, features and cases have limits of their own; this one limits all of them
// together, so that they take a few GB at most.
std::size_t weight_of(const Table& table);
// The same of a table that lists no rows.
std::size_t weight_of_features(std::size_t features);
inline constexpr std::size_t kMostTableWeight = 25'000'000;

}  // namespace shardsim
