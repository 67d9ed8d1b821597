#pragma once

#include <string>
#include <string_view>

#include "validate/emulated/emulated_shape.h"

namespace shardsim {

// Whether the kernel has what was asked for, by what `tc` and `ip` print. Each returns what is wrong, or "".
// Errors: Failure::run when one of them cannot be run.
std::string wrong_rank_shapers(const EmulatedShape& shape, int rank);  // transmit ports
std::string wrong_switch_shapers(const EmulatedShape& shape);          // receive ports
std::string wrong_routes(const EmulatedShape& shape, int rank);        // one to each other rank of the node

// The parts: of `tc -j qdisc show` and of `ip -j route`.
std::string wrong_shaper(std::string_view qdiscs, const std::string& device, Bandwidth rate, int mtu, int burst);
std::string wrong_fast_routes(std::string_view routes, const EmulatedShape& shape, int rank);

}  // namespace shardsim
