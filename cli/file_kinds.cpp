#include "cli/file_kinds.h"

#include "base/files.h"
#include "base/tree/json.h"
#include "cli/commands/shared.h"
#include "program/program_file.h"
#include "program/timeline/timeline_file.h"
#include "program/timeline/timeline_json.h"
#include "study/run/study.h"
#include "validate/microbench/microbench.h"

namespace shardsim {
namespace {

bool is_program_file(const std::string& path) {
  return path.ends_with(".json");
}

void refuse_scenario_options(const Arguments& given) {
  for (const Option& option : source_options()) {
    if (given.has(option.name)) {
      throw input_error(Arguments::place(option.name), "a program file holds only one case",
                        "Leave the option out, or name a scenario");
    }
  }
}

}  // namespace

std::vector<Positional> source_positionals() {
  return {{"PROGRAM.json|SCENARIO", "A program file that shardsim lower wrote, or a scenario."}};
}

std::vector<Option> source_options() {
  return std::vector{case_option()} + scenario_options();
}

std::string timeline_kinds() {
  return "Write the observed timeline to this file, whose name ends in .h5 or .timeline.json.";
}

ValidateSource load_source(const Arguments& given) {
  const std::string& path = given.positional()[0];
  ValidateSource source;
  if (is_program_file(path)) {
    refuse_scenario_options(given);
    source.program = read_program_file(path);
    source.program.scenario = path;  // what is wrong with it is told of this file, not of the one that it is made from
    return source;
  }
  const Scenario scenario = read_scenario(path, overrides(given));
  const Case& item = chosen_case(scenario, given);
  const Cluster cluster = cluster_of(item);
  source.program = make_program(item, cluster, make_plan(item, cluster, scenario.seed, {}), scenario, false);
  source.scenario_text = scenario.text;
  return source;
}

void check_timeline_ending(const std::string& path) {
  if (path.ends_with(".h5") || path.ends_with(".json")) return;
  throw input_error(Arguments::place("output"), "'" + path + "' ends neither in .h5 nor in .json",
                    "Write for example -o observed.h5");
}

void save_timeline(const std::filesystem::path& path, const ValidateSource& source, const Timeline& timeline) {
  if (path.extension() == ".json") return write_file(path, timeline_to_json(timeline, source.program.case_name));
  write_timelines(path,
                  {source.scenario_text, source.program.seed, version(), "", {{source.program.case_name, &timeline}}});
}

std::vector<std::string> measured_endings() {
  return {".h5", ".json", ".csv"};
}

void save_measured(const MeasuredSet& set, const std::string& path) {
  if (path.ends_with(".h5")) return save_measured_hdf5(set, path);
  write_file(path, path.ends_with(".csv") ? measured_csv(set) : measured_json(set));
}

}  // namespace shardsim
