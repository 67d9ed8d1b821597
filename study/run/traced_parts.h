#pragma once

#include "program/timeline/kineto/merged_trace.h"
#include "sim/engine/engine.h"
#include "study/planning/prepared_case.h"

namespace shardsim {

// Returns what a merged trace shows of a case beside its Timeline: the critical path, which collective moved how many
// bytes over which link, and what waits for what. Drawn batches have no links, for loads differ in every iteration.
// `timeline` and `path` are those of the simulation.
TracedParts traced_parts(const PreparedCase& prepared, const Timeline& timeline, const CriticalPath& path);

}  // namespace shardsim
