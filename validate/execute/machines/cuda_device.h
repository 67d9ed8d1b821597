#pragma once

#include "sim/timeline.h"
#include "validate/execute/launch.h"

namespace shardsim {

// Chooses the GPU of this rank among those that its process sees, and makes it the current one. Errors (Failure::run):
// none is there, or fewer than ranks where NCCL does not share them.
int choose_device(const Launch& launch);

// Device, driver, CUDA and NCCL, as far as they say.
Timeline::Measured gpu_facts(int device);

}  // namespace shardsim
