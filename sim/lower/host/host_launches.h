#pragma once

#include "program/program.h"
#include "sim/lower/host/host_times.h"

namespace shardsim {

// The Program with the host of each rank as a stream `launch` of its own (docs/lowering.md, "The host"): before what it
// launches an operation in the role `launch`, for as long as the host takes; what blocks the host stands on that
// stream, too. The host runs ahead of the GPU, by no more than an iteration. Work that takes no time is left out: a
// host that takes none leaves the operations as they were. Errors (Failure::input, at the place of the software): a
// wait of the host inside a CUDA graph.
Program with_host(Program program, const HostWork& work);

}  // namespace shardsim
