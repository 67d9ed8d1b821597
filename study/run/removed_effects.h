#pragma once

#include <vector>

#include "sim/engine/op_work.h"
#include "study/planning/prepared_case.h"
#include "study/result/effects.h"

namespace shardsim {

// Simulates the case again, one effect after the other taken away (docs/crosscheck.md), from `alone_ms` on: its
// iteration without contention. Needs no event engine.
RemovedEffects remove_effects(const PreparedCase& prepared, double alone_ms);

// The work of expanded operations by what it is for, mean over the ranks, without start-ups of collectives. A rank's
// part of a collective is what its own links carry; where all members end together, the whole call.
WorkTimes mean_work(const Program& program, const std::vector<OpWork>& works, const Cluster& cluster);

}  // namespace shardsim
