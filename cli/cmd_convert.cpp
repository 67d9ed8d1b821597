#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/scenario_arguments.h"
#include "sim/study/timeline_file.h"
#include "sim/timeline/timeline_json.h"
#include "validate/comparison/comparison_report.h"

namespace shardsim {
namespace {

constexpr const char* kConvertUsage =
    "shardsim convert X.timeline.json -o timeline.h5 | timeline.h5 [--case NAME] -o X.timeline.json";

bool is_hdf5(const std::filesystem::path& path) {
  return path.extension() == ".h5" || path.extension() == ".hdf5";
}

// An HDF5 file is overwritten only when it holds Timelines.
void require_timelines(const std::filesystem::path& path) {
  if (!is_there(path)) return;
  try {
    timeline_cases(path);
  } catch (const Error&) {
    throw input_error({path.string()}, "the file exists and is no shardsim.timeline/1 file",
                      "Choose another name, or add --force");
  }
}

void to_hdf5(const TimelineSource& source, const std::filesystem::path& target, bool force) {
  if (!force) require_timelines(target);
  TimelineFile file;
  file.version = version();
  for (const NamedTimeline& item : source.cases) file.cases.emplace_back(item.case_name, &item.timeline);
  write_timelines(target, file);
}

const NamedTimeline& chosen(const TimelineSource& source, const Arguments& given) {
  std::vector<std::string> names;
  for (const NamedTimeline& item : source.cases) names.push_back(item.case_name);
  const auto wanted = given.value("case");
  if (!wanted && names.size() == 1) return source.cases.front();
  if (!wanted)
    throw input_error(Arguments::place("case"), "the file has several cases, and the JSON form holds one",
                      "Name one of: " + join(names));
  for (const NamedTimeline& item : source.cases)
    if (item.case_name == *wanted) return item;
  throw input_error(Arguments::place("case"), "unknown case " + excerpt(*wanted), known_names_hint(*wanted, names));
}

}  // namespace

int convert_command(const std::vector<std::string>& arguments, const Terminal&) {
  const Arguments given(arguments, {{"output", 'o', true, false}, {"case", 0, true, false}, {"force", 0, false, false}},
                        1, 1, kConvertUsage);
  const std::string target = given.value("output").value_or("");
  if (target.empty())
    throw input_error(Arguments::place("output"), "the output is missing", "Name a file, e.g. -o timeline.h5");
  const TimelineSource source = read_timeline_source(given.positional()[0]);
  if (!is_hdf5(target)) {
    const NamedTimeline& item = chosen(source, given);
    deliver(timeline_to_json(item.timeline, item.case_name), given, "shardsim.timeline_json/1");
    return 0;
  }
  if (!given.value("case")) {
    to_hdf5(source, target, given.has("force"));
    return 0;
  }
  TimelineSource one{source.path, {chosen(source, given)}, false, {}};
  to_hdf5(one, target, given.has("force"));
  return 0;
}

}  // namespace shardsim
