#include "sim/io/timeline_hdf5.h"

#include <algorithm>

#include "base/error.h"
#include "base/hdf5.h"
#include "base/text.h"
#include "sim/io/timeline_columns.h"

namespace shardsim {
namespace {

constexpr const char* kSchema = "shardsim.timeline/1";
constexpr const char* kConventions = "shardsim-1";

// Parts of a case name become nested groups, so each must be a name that HDF5 keeps apart from "this group".
void check_case_name(const std::string& name) {
  for (const std::string& part : split(name, '/'))
    if (part.empty() || part == "." || part == "..")
      throw run_error("case name \"" + name + "\" cannot be a group of timeline.h5", "Rename the case");
}

void write_root(Hdf5Writer& out, const TimelineFile& file) {
  out.text_attribute("/", "schema", kSchema);
  out.text_attribute("/", "tool_version", file.version);
  out.text_attribute("/", "scenario", file.scenario_text);
  out.attribute("/", "seed", file.seed);
  out.text_attribute("/", "Conventions", kConventions);
  if (!file.created.empty()) out.text_attribute("/", "created", file.created);
}

void write_case_table(Hdf5Writer& out, const TimelineFile& file) {
  std::vector<std::string> names;
  for (const auto& entry : file.cases) names.push_back(entry.first);
  out.scale<std::int32_t>("/case/case", names.size(), {"1", "case"});
  out.texts("/case/name", names, "/case/case", {"", "case name, a group under /cases"});
}

void check_schema(const Hdf5Reader& in) {
  const std::string schema = in.text_attribute("/", "schema");
  if (schema != kSchema) in.refuse("schema is " + excerpt(schema) + ", not \"" + kSchema + "\"");
}

}  // namespace

void write_timelines(const std::filesystem::path& path, const TimelineFile& file) {
  Hdf5Writer out;
  write_root(out, file);
  write_case_table(out, file);
  for (const auto& [name, timeline] : file.cases) {
    check_case_name(name);
    write_timeline_columns(out, "/cases/" + name, *timeline);
  }
  out.save(path);
}

std::vector<std::string> timeline_cases(const std::filesystem::path& path) {
  const Hdf5Reader in(path);
  check_schema(in);
  return in.texts("/case/name");
}

Timeline read_timeline(const std::filesystem::path& path, const std::string& case_name) {
  const Hdf5Reader in(path);
  check_schema(in);
  const std::vector<std::string> known = in.texts("/case/name");
  if (std::find(known.begin(), known.end(), case_name) == known.end())
    throw input_error(Place{path.string()}, "there is no case " + excerpt(case_name),
                      known_names_hint(case_name, known));
  Timeline timeline = read_timeline_columns(in, "/cases/" + case_name);
  if (const std::string wrong = timeline_fault(timeline); !wrong.empty())
    in.refuse("case " + excerpt(case_name) + ": " + wrong);
  return timeline;
}

}  // namespace shardsim
