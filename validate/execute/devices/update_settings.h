#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "sim/program/program.h"
#include "validate/execute/fusion/fusion.h"
#include "validate/execute/kernels/embedding.h"

namespace shardsim {

// What the operation's optimizer asks for. Errors (Failure::input at `place`): one that the executor has no kernel for.
OptimizerSettings optimizer_settings(const std::string& optimizer, bool check_data, const Place& place);
// Of the operation that updates the rows; plain SGD where there is none (-1).
OptimizerSettings update_settings(const Program& program, int gradient, int apply, bool check_data);
// Of each part of a pooled fusion.
std::vector<OptimizerSettings> part_settings(const Program& program, const Fusion& fusion, bool check_data);
// Plain SGD of learning rate -1: into rows of zeros it adds gradients up.
OptimizerSettings summing_settings();

}  // namespace shardsim
