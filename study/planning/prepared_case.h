#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/flexshard_equations.h"
#include "plan/placement_load.h"
#include "plan/plan.h"
#include "program/program.h"
#include "sim/lower/draws/row_draws.h"
#include "sim/lower/lower.h"
#include "study/planning/resolved_case.h"

namespace shardsim {

// Returns `error` unchanged if it has a place. Otherwise adds the name of the case, and the place of the case or, for
// bad input, that of its plan file.
Error in_case(const Case& item, const Error& error);

// Returns what `work` returns; its errors pass through in_case().
template <typename Work>
auto done_in_case(const Case& item, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw in_case(item, error);
  }
}

// Who looks on while a plan is made; all may be empty.
struct PlanWatch {
  std::function<bool()> interrupted;                                       // asked now and then
  std::function<void(const std::string&)> note;                            // takes what the planner says of its choice
  std::function<void(const std::string& name, double value)> figure = {};  // takes its figures
  std::function<void(const std::string& provider)> trained_on = {};        // takes what its costs were learned from
};

// The plan of one case as its file or its planner gives it: of 2D parallelism, for one sharding group. Errors: those of
// planners and plan files; Interrupted.
Plan unchecked_plan(const Case& item, const Cluster& cluster, std::uint64_t seed, const PlanWatch& watch);

// Refuses a plan that a planner may not make, or that does not keep the case's constraints. Errors: Failure::input.
void check_made_plan(const Plan& plan, const Case& item, const Cluster& cluster);

// The machine that its planner sees: the case's cluster, or of 2D parallelism the part of one sharding group. Errors:
// those of GroupedWorld.
Cluster cluster_of_plan(const Case& item);

// The plan that unchecked_plan() gave, with the holders of all sharding groups. Errors: those of GroupedWorld.
Plan plan_of_world(Plan plan, const Case& item, const Cluster& cluster);

// The plan of the world, checked, within memory. Errors: those of planners, plan files and checks; Interrupted.
Plan make_plan(const Case& item, const Cluster& cluster, std::uint64_t seed, const PlanWatch& watch);
// The same, where a search begins with these plans of the world, too. Sharding groups have plans of their own and begin
// with none.
Plan make_plan_from(const std::vector<Plan>& known, const Case& item, const Cluster& cluster, std::uint64_t seed,
                    const PlanWatch& watch);

// The FlexShard planner's four bandwidths as this cluster's model gives them: payload over time of one call alone.
// Payloads: the batch's rows for the all-to-alls; 256 MiB for the all-reduces, whose payload the plan decides.
PlannerBandwidths simulated_bandwidths(const Workload& workload, const Cluster& cluster);

// Returns what one placement adds to an iteration, as the lowering counts it. A few microseconds per rank of the world.
PlacementLoad placement_load(const Placement& placement, const Workload& workload, const Cluster& cluster,
                             const LoweringOptions& options = {});

// As the case says, which has to outlive them; where its rows lie is not decided yet (with_placed_rows()).
LoweringOptions lowering_options(const Case& item, bool observed_payload);

// The Program of one case; `observed_payload` as for lower(). Rows lie as the case's load says, or as typically drawn.
Program make_program(const Case& item, const Cluster& cluster, const Plan& plan, const Scenario& scenario,
                     bool observed_payload);

// One case made ready: everything that is known before its simulation.
class PreparedCase : public ResolvedCase {
 public:
  PreparedCase(const Scenario& of, const Case& one, Cluster on, Plan planned);
  // On a cluster that other cases share.
  // `known`: what is known of its tables; none: nothing.
  PreparedCase(const Scenario& of, const Case& one, std::shared_ptr<const Cluster> on, Plan planned,
               std::shared_ptr<KnownShares> known = nullptr);

  // The same case with another plan. It knows what this one found out about the rows of tables that stay where they
  // are, so that its Program costs less than the first one.
  PreparedCase with_plan(Plan planned) const;
  // Another case, as a rule this one with a change, on its own cluster and with the same plan. It knows the same where
  // it has the same tables.
  PreparedCase with_case(const Case& other) const;

  const Scenario& scenario;  // which has to outlive this, as the case has
  const Plan plan;

  // At the planned payload. Lowered when it is first asked for: in the worker of the case, so that the parent need not.
  const Program& program() const;
  // At the observed payload, lowered anew for each caller.
  Program observed_program() const;

  // As program(), with the host's times of another software; rows lie where they do.
  Program program_with(const Software& software) const;

  // The options by which both are lowered, with the rows where they lie.
  LoweringOptions placed_options(bool observed_payload) const;

  // The draw of where its rows lie, that one or the typical one; nothing where nothing depends on it.
  std::optional<int> row_draw() const;

  // Returns the time of an iteration in each draw of where the plan's rows may lie, as RowDraws::log_times() has it; of
  // expected batches, also where the case's are drawn. `moved`: the share of the typical time that follows where rows
  // lie (share_moved_by_rows()).
  std::vector<double> placement_log_times(const std::function<double()>& moved) const;

 private:
  PreparedCase(const PreparedCase& like, Plan planned);

  const RowDraws& row_draws() const;
  Program lowered(const LoweringOptions& options) const;

  mutable std::optional<Program> program_;
  mutable std::optional<RowDraws> row_draws_;
  std::shared_ptr<KnownShares> known_;  // of the tables, for all Programs of the case
};

// Milliseconds of an iteration when nothing is contended: the closed form. Errors: those of the simulation.
double uncontended_ms(const PreparedCase& prepared);

// Milliseconds of an iteration of the case, simulated on its own network. Errors: those of the simulation.
double simulated_ms(const PreparedCase& prepared);

// Simulates the case on `network`, with every figure. Errors: those of the simulation.
SimulationResult simulate_case(const PreparedCase& prepared, Network& network);

}  // namespace shardsim
