#pragma once

#include <string>

#include "sim/timeline/timeline.h"
#include "validate/execute/meet/launch.h"

namespace shardsim {

// Chooses the GPU of this rank among those that its process sees, and makes it the current one. Errors (Failure::run):
// none is there, or fewer than ranks where NCCL does not share them.
int choose_device(const Launch& launch);

// Device, driver, CUDA and NCCL, as far as they say.
Timeline::Measured gpu_facts(int device);

std::string driver_version();                // of the kernel module: the runtime knows only which CUDA it supports
std::string cuda_version_text(int version);  // 12040, as CUDA writes it, is "12.4"

}  // namespace shardsim
