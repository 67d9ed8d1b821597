#include <cstdio>

#include "base/text.h"
#include "cli/command.h"
#include "cli/scenario_arguments.h"
#include "plan/plan_file.h"
#include "plan/planner.h"
#include "sim/scenario/read_case.h"
#include "sim/study/study.h"

namespace shardsim {
namespace {

// The case with another planner, at that planner's defaults.
Case with_planner(Case item, const std::string& name) {
  item.planner = named_map(name, Arguments::place("planner"));
  share_torchrec_rules(item.planner, item.memory_model);
  item.plan_file.clear();
  return item;
}

// By what the planner judges plans: its estimate, or the simulation.
void set_objective(Case& item, const std::string& objective) {
  if (item.planner.kind != Tree::Kind::map) {
    throw input_error(Arguments::place("objective"), "the plan of this case comes from a file",
                      "Add --planner torchrec");
  }
  set_path(item.planner, "objective", text_tree(objective, Arguments::place("objective")));
}

void require_torchrec_types(const Plan& plan, const Workload& workload) {
  for (const Placement& placement : plan.placements) {
    const Table& table = workload.tables[placement.table];
    if (placement.rows() == table.rows && placement.strategy != Strategy::flex) continue;
    throw input_error({"argument --torchrec-only"},
                      "the plan of table '" + table.name + "' has row tiers, which TorchRec does not know",
                      "Use another planner, or leave --torchrec-only out");
  }
}

}  // namespace

int plan_command(const std::vector<std::string>& arguments, const Terminal& terminal) {
  std::vector<OptionSpec> options = scenario_options();
  options.insert(options.end(), {{"case", 0, true, false},
                                 {"planner", 0, true, false},
                                 {"objective", 0, true, false},
                                 {"output", 'o', true, false},
                                 {"torchrec-only", 0, false, false},
                                 {"force", 0, false, false}});
  const Arguments given(arguments, options, 1, 1, "shardsim plan SCENARIO [options]");
  const Scenario scenario = read_scenario(given.positional()[0], overrides(given));
  Case item = chosen_case(scenario, given);
  if (const auto planner = given.value("planner")) item = with_planner(item, *planner);
  if (const auto objective = given.value("objective")) set_objective(item, *objective);
  const Cluster cluster = cluster_of(item);
  const auto note = [](const std::string& line) { std::fputs(("note: " + line + "\n").c_str(), stderr); };
  const Plan plan = make_plan(item, cluster, scenario.seed, {terminal.interrupted, note});
  if (given.has("torchrec-only")) require_torchrec_types(plan, item.workload);
  deliver(plan_to_json(plan, item.workload, cluster), given, "shardsim.plan/1");
  return 0;
}

}  // namespace shardsim
