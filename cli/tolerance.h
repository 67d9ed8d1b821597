#pragma once

#include <optional>

#include "cli/arguments.h"

namespace shardsim {

inline constexpr int kOutsideTolerance = 4;  // exit code: a figure is outside what was asked or promised

// --tolerance, percent. Errors: Failure::input when it is no percentage or below 0.
std::optional<double> tolerance(const Arguments& given);

}  // namespace shardsim
