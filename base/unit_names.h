#pragma once

#include <string>
#include <vector>

namespace shardsim {

// The units that a text of a quantity may end in, as base/units.h parses it.
enum class UnitsOf { time, bytes, rate, flops };
std::vector<std::string> unit_names(UnitsOf quantity);

}  // namespace shardsim
