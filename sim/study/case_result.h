#pragma once

#include <string>
#include <vector>

#include "sim/study/prepared_case.h"
#include "sim/study/result.h"

namespace shardsim {

// What the worker of a case does: simulates it, at the observed payload too where published numbers belong to it, and
// says all that can be said without other cases. `pareto`: with the figures of the replicated rows of its tables.
CaseResult simulated_case(const PreparedCase& prepared, bool pareto);

// The rest, for a case whose simulation is there: `simulated` at the planned payload.
CaseResult described_case(const PreparedCase& prepared, SimulationResult simulated, double estimate_ms, bool pareto);

// What a reader of one case's numbers must know beside them, as sentences. `result` holds the simulation and the
// placements; `plan` is the plan behind them.
std::vector<std::string> case_notes(const CaseResult& result, const Case& item, const Plan& plan);

// The case's published numbers beside its own, from the figures that it holds already.
std::vector<Comparison> compared_with_published(const CaseResult& result, const std::vector<Published>& published);
// The gain over the case that it is relative to is added when both are there.
void compare_throughput(CaseResult& result, const CaseResult& base);

}  // namespace shardsim
