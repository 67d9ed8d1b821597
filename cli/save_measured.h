#pragma once

#include <string>
#include <vector>

#include "validate/microbench/microbench.h"

namespace shardsim {

// How the micro-benchmark writes what it measured. There are two: the bare one (cli/bare/) has no HDF5.

std::vector<std::string> measured_endings();  // ".csv", ...

// By the ending, which is one of those. Errors: Failure::run naming the path.
void save_measured(const MeasuredSet& set, const std::string& path);

}  // namespace shardsim
