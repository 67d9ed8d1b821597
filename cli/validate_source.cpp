#include "cli/validate_source.h"

#include "base/files.h"
#include "base/json.h"
#include "base/version.h"
#include "cli/scenario_arguments.h"
#include "sim/program/program_file.h"
#include "sim/study/study.h"
#include "sim/study/timeline_file.h"
#include "sim/timeline/timeline_json.h"

namespace shardsim {
namespace {

bool is_program_file(const std::string& path) {
  return path.ends_with(".json");
}

void refuse_scenario_options(const Arguments& given) {
  for (const OptionSpec& option : source_options()) {
    if (given.has(option.name)) {
      throw input_error(Arguments::place(option.name), "a program file holds one case already",
                        "Leave the option out, or name a scenario");
    }
  }
}

}  // namespace

std::vector<OptionSpec> source_options() {
  std::vector<OptionSpec> options = scenario_options();
  options.push_back({"case", 0, true, false});
  return options;
}

std::string_view source_usage() {
  return "shardsim-validate PROGRAM.json|SCENARIO -o observed.h5 [options]\n"
         "  -o, --output FILE        the observed Timeline: .h5 or .timeline.json\n"
         "      --case NAME          of a scenario with several\n"
         "      --set, --seed, --memory-model   of a scenario, as for shardsim run\n";
}

ValidateSource load_source(const Arguments& given) {
  const std::string& path = given.positional()[0];
  ValidateSource source;
  if (is_program_file(path)) {
    refuse_scenario_options(given);
    source.program = read_program_file(path);
    source.seed = source.program.seed;
    return source;
  }
  const Scenario scenario = read_scenario(path, overrides(given));
  const Case& item = chosen_case(scenario, given);
  const Cluster cluster = cluster_of(item);
  source.program = make_program(item, cluster, make_plan(item, cluster, scenario.seed, {}), scenario, false);
  source.scenario_text = scenario.text;
  source.seed = scenario.seed;
  return source;
}

void check_timeline_ending(const std::string& path) {
  if (path.ends_with(".h5") || path.ends_with(".json")) return;
  throw input_error(Arguments::place("output"), "'" + path + "' ends neither in .h5 nor in .json",
                    "Write for example -o observed.h5");
}

void save_timeline(const std::filesystem::path& path, const ValidateSource& source, const Timeline& timeline) {
  if (path.extension() == ".json") return write_file(path, timeline_to_json(timeline, source.program.case_name));
  write_timelines(path, {source.scenario_text, source.seed, version(), "", {{source.program.case_name, &timeline}}});
}

}  // namespace shardsim
