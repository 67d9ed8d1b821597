// cli/file_kinds.h on a compute node without libraries: program files in, JSON and CSV out.
#include "cli/file_kinds.h"

#include "base/files.h"
#include "program/program_file.h"
#include "program/timeline/timeline_json.h"
#include "validate/microbench/microbench.h"

namespace shardsim {

std::vector<Positional> source_positionals() {
  return {{"PROGRAM.json", "A program file, made by: shardsim lower SCENARIO --case NAME -o PROGRAM.json."}};
}

std::vector<Option> source_options() {
  return {};
}

std::string timeline_kinds() {
  return "Write the observed timeline to this file, whose name ends in .json. `shardsim convert` turns it into HDF5.";
}

ValidateSource load_source(const Arguments& arguments) {
  const std::string& path = arguments.positional()[0];
  if (!path.ends_with(".json"))
    throw input_error({path}, "this build reads program files only",
                      "Make a program file with the full build: shardsim lower SCENARIO --case NAME -o program.json");
  ValidateSource source{read_program_file(path), ""};
  source.program.scenario = path;  // what is wrong with it is told of this file, not of the one that it is made from
  return source;
}

void check_timeline_ending(const std::string& path) {
  if (path.ends_with(".json")) return;
  throw input_error(Arguments::place("output"), "this build writes '.json' only",
                    "Write -o observed.timeline.json, and convert it with shardsim convert");
}

void save_timeline(const std::filesystem::path& path, const ValidateSource& source, const Timeline& timeline) {
  write_file(path, timeline_to_json(timeline, source.program.case_name));
}

std::vector<std::string> measured_endings() {
  return {".json", ".csv"};
}

void save_measured(const MeasuredSet& set, const std::string& path) {
  write_file(path, path.ends_with(".csv") ? measured_csv(set) : measured_json(set));
}

}  // namespace shardsim
