#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "program/program_file.h"
#include "study/run/study.h"

namespace shardsim {
namespace {

int lower(const Arguments& given, const Terminal& terminal) {
  const Progress progress = progress_of(given, "planning, and lowering the plan");
  const Scenario scenario = asked_scenario(given);
  const Case& item = chosen_case(scenario, given);
  if (given.has("observed-payload") && !item.workload.has_runtime())
    throw input_error(Arguments::place("observed-payload"),
                      "no table of the workload states what was observed ('runtime')", "Leave the option out");
  const Cluster cluster = cluster_of(item);
  const Plan plan = make_plan(item, cluster, scenario.seed, {terminal.interrupted, {}});
  const Program program = make_program(item, cluster, plan, scenario, given.has("observed-payload"));
  deliver(program_to_json(program), given);
  return 0;
}

}  // namespace

Command lower_command() {
  return {.name = "shardsim lower",
          .summary = "write the Program of a case, which lists the operations of one iteration",
          .positionals = {{"SCENARIO", "A scenario file."}},
          .options = std::vector{case_option(), output_file_option(),
                                 Option{"observed-payload", 0, "",
                                        "Use the sizes that follow from what was observed in training (key `runtime` "
                                        "of the tables) instead of the planned ones."},
                                 force_option()} +
                     scenario_options(),
          .examples = {"shardsim lower scenarios/toy.yaml --case row_wise",
                       "shardsim lower scenarios/flexshard.yaml --case rm1/flexshard_3tier -o out/program.json"},
          .run = lower};
}

}  // namespace shardsim
