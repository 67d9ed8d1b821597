#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "program/timeline/timeline_file.h"
#include "program/timeline/timeline_json.h"
#include "validate/comparison/comparison_report.h"

namespace shardsim {
namespace {

bool is_hdf5(const std::filesystem::path& path) {
  return path.extension() == ".h5" || path.extension() == ".hdf5";
}

void to_hdf5(const TimelineSource& source, const std::filesystem::path& target, const ResultWriter& writer) {
  TimelineFile file;
  file.version = version();
  for (const NamedTimeline& item : source.cases) file.cases.push_back({item.case_name, &item.timeline});
  write_result(target, writer, [&](const std::filesystem::path& hidden) { write_timelines(hidden, file); });
}

int convert(const Arguments& given, const Terminal&) {
  const Progress progress = progress_of(given, "converting");
  const std::string target = given.text("output");
  if (target.empty())
    throw input_error(Arguments::place("output"), "the name is empty", "Name a file, e.g. timeline.h5");
  refuse_read_file(target, given.positional());
  TimelineSource source = read_timeline_source(given.positional()[0]);
  const std::vector<std::string> names = source.names();
  if (!is_hdf5(target)) {
    const NamedTimeline& item = source.cases[chosen_name(names, given, "the file")];
    deliver(timeline_to_json(item.timeline, item.case_name), given);
    return 0;
  }
  if (given.has("case")) {
    std::vector<NamedTimeline> chosen;
    for (const std::size_t index : chosen_names(names, given)) chosen.push_back(std::move(source.cases[index]));
    source.cases = std::move(chosen);
  }
  to_hdf5(source, target, result_writer(given));
  return 0;
}

}  // namespace

Command convert_command() {
  return {.name = "shardsim convert",
          .summary = "convert a timeline between its JSON form and HDF5 (timeline.h5)",
          .positionals = {{"TIMELINE",
                           "The timeline to convert: a timeline.h5, or the JSON form of one case (X.timeline.json)."}},
          .options = {{"output", 'o', "FILE",
                       "Write this file: in HDF5 if its name ends in .h5, else in JSON. - means standard output.", "",
                       Option::Times::once},
                      cases_option(),
                      force_option()},
          .notes = "The JSON form can hold only one case.",
          .examples = {"shardsim convert out/toy/timeline.h5 --case row_wise -o out/row_wise.timeline.json",
                       "shardsim convert out/row_wise.timeline.json -o out/row_wise.h5"},
          .run = convert};
}

}  // namespace shardsim
