#pragma once

#include "sim/engine/engine.h"
#include "sim/memory/memory_profile.h"
#include "study/planning/prepared_case.h"
#include "study/result/drawn_figures.h"
#include "study/why/change.h"

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

// The mean iteration of them alone, in milliseconds; `edit` changes what every iteration takes.
double drawn_mean_ms(const PreparedCase& prepared, const WorksEdit& edit);

// A sentence that says which iteration is shown where only one can be shown.
std::string kept_iteration_text(const DrawnFigures& figures, double kept_ms);

}  // namespace shardsim
