#pragma once

#include <cstdint>

namespace shardsim::torchrec {

__extension__ using Wide = unsigned __int128;  // table sizes times shard sizes pass 2^64

// numerator / denominator as the nearest double, ties to even, as Python divides whole numbers. `denominator` > 0.
double exact_ratio(Wide numerator, Wide denominator);

// Bytes rounded up. Errors: PlannerError (other) beyond 2^62: no machine has them, and sums would not fit.
std::int64_t whole_bytes(double bytes);

}  // namespace shardsim::torchrec
