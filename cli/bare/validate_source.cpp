// cli/validate_source.h on a compute node without libraries: program files in, JSON out.
#include "cli/validate_source.h"

#include "base/files.h"
#include "sim/program/program_file.h"
#include "sim/timeline/timeline_json.h"

namespace shardsim {

std::vector<OptionSpec> source_options() {
  return {};
}

std::string_view source_usage() {
  return "shardsim-validate PROGRAM.json -o observed.timeline.json [options]\n"
         "  PROGRAM.json             made by: shardsim lower SCENARIO --case NAME -o PROGRAM.json\n"
         "  -o, --output FILE        the observed Timeline; shardsim convert makes .h5 of it\n";
}

ValidateSource load_source(const Arguments& arguments) {
  const std::string& path = arguments.positional()[0];
  if (!path.ends_with(".json"))
    throw input_error({path}, "this build reads program files only",
                      "Where scenarios are read: shardsim lower SCENARIO --case NAME -o program.json");
  ValidateSource source;
  source.program = read_program_file(path);
  source.seed = source.program.seed;
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

}  // namespace shardsim
