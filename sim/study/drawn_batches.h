#pragma once

#include "sim/engine/engine.h"
#include "sim/memory/memory_profile.h"
#include "sim/planning/prepared_case.h"
#include "sim/study/drawn_figures.h"

namespace shardsim {

// A case of drawn batches, simulated (docs/lowering.md, "Batches that vary").
struct DrawnSimulation {
  SimulationResult nearest;  // the iteration that is nearest to the median
  MemoryProfile memory;      // of each rank the highest mark of all iterations
  double estimate_ms = 0;    // mean iteration without contention
  DrawnFigures figures;
};

// `observed_payload` as for lower(). Errors: Failure::input as of DrawnPrograms.
DrawnSimulation simulate_drawn(const PreparedCase& prepared, bool observed_payload);

}  // namespace shardsim
