#pragma once

#include <optional>
#include <vector>

#include "cli/arguments.h"
#include "validate/emulated/emulated_shape.h"

namespace shardsim {

// --nodes, --gpus-per-node, --fast, --nic and --straggler. Errors: Failure::input at the argument.
std::vector<OptionSpec> emulated_options();
EmulatedShape emulated_shape(const Arguments& given);  // checked
std::optional<int> straggler_of(const Arguments& given, const EmulatedShape& shape);

}  // namespace shardsim
