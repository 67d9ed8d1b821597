#pragma once

#include <vector>

#include "program/program.h"
#include "sim/engine/engine.h"
#include "sim/engine/op_work.h"

namespace shardsim {

// The stream of a rank that limits an iteration of so many seconds: the one that works longest, collectives apart.
// Streams overlap, so each counts by itself. The host works ahead of the GPU, so it is the limit only if the GPU waits
// for it. If the host is busiest, but has idle time and no GPU waits for it, the busiest of the other streams is
// returned.
Utilisation limiting_rank(const Program& program, const std::vector<OpWork>& works, const Timeline& timeline,
                          double iteration_seconds);

}  // namespace shardsim
