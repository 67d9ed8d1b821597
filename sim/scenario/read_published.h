#pragma once

#include <vector>

#include "sim/scenario/scenario.h"

namespace shardsim {

// The `published` list of a case (docs/formats.md, scenario files). Units follow from the quantity: times in ms, rows
// as a count, coverage and throughput_gain in %. Errors: Failure::input.
std::vector<Published> read_published(const Tree& list);

}  // namespace shardsim
