#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace shardsim {

// `shardsim cluster calibrate`: arguments after the word calibrate.
int cluster_calibrate(const std::vector<std::string>& arguments, const Terminal& terminal);

}  // namespace shardsim
