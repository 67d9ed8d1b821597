#pragma once

#include <optional>

#include "plan/plan.h"
#include "sim/engine/engine.h"
#include "sim/program/program.h"
#include "sim/scenario/scenario.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// The Program of one case; `observed_payload` as for lower().
Program make_program(const Case& item, const Cluster& cluster, const Plan& plan, const Scenario& scenario,
                     bool observed_payload);

EngineOptions engine_options(const Case& item);

// One case made ready: everything that is known before its simulation.
class PreparedCase {
 public:
  PreparedCase(const Scenario& of, const Case& one, Cluster on, Plan planned)
      : scenario(of), item(one), cluster(std::move(on)), plan(std::move(planned)) {}

  const Scenario& scenario;
  const Case& item;
  const Cluster cluster;  // of a job: its part of the fabric
  const Plan plan;

  // At the planned payload. Lowered when it is first asked for: in the worker of the case, so that the parent need not.
  const Program& program() const;

 private:
  mutable std::optional<Program> program_;
};

// Runs a Program of the case on `network` (a map with `name`).
SimulationResult simulate_case(const PreparedCase& prepared, const Program& program, const Tree& network);

}  // namespace shardsim
