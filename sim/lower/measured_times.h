#pragma once

#include "models/workload/workload.h"
#include "sim/program/program.h"

namespace shardsim {

// Gives the compute operations the times of a measured rest: each class takes exactly its time, shared among its
// operations in proportion to their bytes, in whole nanoseconds.
void hold_measured_times(Program& program, const MeasuredRest& measured);

}  // namespace shardsim
