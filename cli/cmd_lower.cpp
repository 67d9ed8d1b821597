#include "cli/command.h"
#include "cli/scenario_arguments.h"
#include "sim/program/program_file.h"
#include "sim/study/study.h"

namespace shardsim {

int lower_command(const std::vector<std::string>& arguments, const Terminal& terminal) {
  std::vector<OptionSpec> options = scenario_options();
  options.insert(options.end(), {{"case", 0, true, false},
                                 {"output", 'o', true, false},
                                 {"observed-payload", 0, false, false},
                                 {"force", 0, false, false}});
  const Arguments given(arguments, options, 1, 1, "shardsim lower SCENARIO --case NAME [-o program.json]");
  const Scenario scenario = read_scenario(given.positional()[0], overrides(given));
  const Case& item = chosen_case(scenario, given);
  const Cluster cluster = cluster_of(item);
  const Plan plan = make_plan(item, cluster, scenario.seed, {terminal.interrupted, {}});
  const Program program = make_program(item, cluster, plan, scenario, given.has("observed-payload"));
  deliver(program_to_json(program), given, kProgramSchema);
  return 0;
}

}  // namespace shardsim
