#pragma once

#include <cstdint>
#include <functional>

namespace shardsim {

// body(part) for every part of [0, parts), each on a thread of its own, part 0 on the caller's. Returns when all have
// ended; then throws what the lowest failing part threw.
void run_parts(int parts, const std::function<void(int part)>& body);

// Cuts [0, items) into `parts` equal intervals; body(first, end) is not called for empty ones.
void run_intervals(std::int64_t items, int parts,
                   const std::function<void(std::int64_t first, std::int64_t end)>& body);

}  // namespace shardsim
