#pragma once

#include <string>
#include <vector>

#include "topology/spec/gpu_spec.h"

namespace shardsim {

// The keys of a cluster's file that the roofline alone reads, of those that are not as the GPU's model has them.
std::vector<std::string> roofline_keys(const GpuSpec& gpu);

}  // namespace shardsim
