#pragma once

#include "program/timeline/kineto/merged_trace.h"
#include "sim/engine/engine.h"
#include "study/planning/prepared_case.h"

namespace shardsim {

// What a merged trace shows of a simulated case beside its Timeline: the critical path, which collective moved how many
// bytes over which link, and what waits for what. Of drawn batches, whose loads differ in every iteration, no links.
// `timeline` and `path` are those of the simulation.
TracedParts traced_parts(const PreparedCase& prepared, const Timeline& timeline, const CriticalPath& path);

}  // namespace shardsim
