#include "sim/study/prepared_case.h"

#include "sim/lower/lower.h"

namespace shardsim {

Program make_program(const Case& item, const Cluster& cluster, const Plan& plan, const Scenario& scenario,
                     bool observed_payload) {
  Program program = lower(plan, item.workload, cluster, {observed_payload, item.overlap});
  program.scenario = scenario.path;
  program.case_name = item.name;
  program.seed = scenario.seed;
  return program;
}

EngineOptions engine_options(const Case& item) {
  return {item.iterations, item.steady, item.algorithms};
}

const Program& PreparedCase::program() const {
  if (!program_) program_ = make_program(item, cluster, plan, scenario, false);
  return *program_;
}

SimulationResult simulate_case(const PreparedCase& prepared, const Program& program, const Tree& network) {
  const auto compute = make_compute_model(prepared.item.compute_model);
  const auto engine = make_network(network);
  return simulate(program, prepared.cluster, *compute, *engine, engine_options(prepared.item));
}

}  // namespace shardsim
