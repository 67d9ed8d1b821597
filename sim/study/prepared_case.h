#pragma once

#include "plan/plan.h"
#include "sim/engine/engine.h"
#include "sim/scenario/scenario.h"

namespace shardsim {

// One case made ready: everything that is known before the simulation.
struct PreparedCase {
  const Case& item;
  Cluster cluster;  // of a job: its part of the fabric
  Plan plan;
};

EngineOptions engine_options(const Case& item);

// Lowers the case and runs it on `network` (a map with `name`); `observed_payload` as for lower().
SimulationResult simulate_case(const PreparedCase& prepared, const Scenario& scenario, const Tree& network,
                               bool observed_payload);

}  // namespace shardsim
