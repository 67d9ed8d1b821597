#pragma once

#include <optional>
#include <vector>

#include "base/units.h"
#include "sim/engine/engine.h"
#include "sim/engine/node_classes.h"
#include "sim/engine/op_work.h"

namespace shardsim {

// Returns what an Execution says of the length of the steady iteration on a network where no transfer waits for another
// one, to the last bit, without its events: where nothing slows down beside other work, an operation ends so long after
// the last one that it waits for, so all ranks are computed operation by operation. Nothing where GPUs slow down beside
// other work, and where an Execution would fail: its error says why.
std::optional<Seconds> uncontended_time(const Program& program, const Cluster& cluster,
                                        const std::vector<OpWork>& works, const NodeClasses& classes,
                                        const EngineOptions& options);

}  // namespace shardsim
