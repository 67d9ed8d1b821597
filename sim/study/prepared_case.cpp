#include "sim/study/prepared_case.h"

#include "sim/study/study.h"

namespace shardsim {

EngineOptions engine_options(const Case& item) {
  return {item.iterations, item.steady, item.algorithms};
}

SimulationResult simulate_case(const PreparedCase& prepared, const Scenario& scenario, const Tree& network,
                               bool observed_payload) {
  const Program program = make_program(prepared.item, prepared.cluster, prepared.plan, scenario, observed_payload);
  const auto compute = make_compute_model(prepared.item.compute_model);
  const auto engine = make_network(network);
  return simulate(program, prepared.cluster, *compute, *engine, engine_options(prepared.item));
}

}  // namespace shardsim
