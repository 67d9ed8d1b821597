#pragma once

#include "base/tree/map_reader.h"
#include "plan/torchrec/search/search_space.h"
#include "plan/torchrec/spec/hardware.h"

namespace shardsim::torchrec {

// The map `hardware` of planner torchrec: numbers of a HardwarePerfConfig of TorchRec under its names. Errors:
// Failure::input for what TorchRec would never look at.
HardwareConfig read_hardware(MapReader reader);

// The map `sharder`: the lists of types and kernels that a user's own sharder offers instead of TorchRec's.
SharderLists read_sharder(MapReader reader, PlannerVersion version);

}  // namespace shardsim::torchrec
