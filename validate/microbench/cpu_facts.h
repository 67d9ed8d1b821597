#pragma once

#include "validate/microbench/bench_device.h"

namespace shardsim {

// The CPU of this process as the system describes it: model, last-level cache, memory that is free.
DeviceFacts cpu_facts(int threads);

}  // namespace shardsim
