#include "program/timeline/timeline_file.h"

#include <algorithm>
#include <new>
#include <set>
#include <string_view>

#include "base/case_name.h"
#include "base/error.h"
#include "base/hdf5/hdf5.h"
#include "base/hdf5/read_apart.h"
#include "base/text.h"
#include "program/timeline/timeline_hdf5.h"

namespace shardsim {
namespace {

constexpr const char* kTimelineSchema = "shardsim.timeline/1";
constexpr const char* kConventions = "shardsim-1";

void write_root(Hdf5Writer& out, const TimelineFile& file) {
  out.text_attribute("/", "schema", kTimelineSchema);
  out.text_attribute("/", "tool_version", file.version);
  out.text_attribute("/", "scenario", file.scenario_text);
  out.attribute("/", "seed", file.seed);
  out.text_attribute("/", "Conventions", kConventions);
  if (!file.created.empty()) out.text_attribute("/", "created", file.created);
}

void write_case_table(Hdf5Writer& out, const TimelineFile& file) {
  std::vector<std::string> names;
  for (const auto& entry : file.cases) names.push_back(entry.name);
  out.scale<std::int32_t>("/case/case", names.size(), {"1", "case"});
  out.texts("/case/name", names, "/case/case", {"", "case name, a group under /cases"});
}

void check_schema(const Hdf5Reader& in) {
  const std::string schema = in.text_attribute("/", "schema");
  if (schema != kTimelineSchema) in.refuse("schema is " + excerpt(schema) + ", not \"" + kTimelineSchema + "\"");
}

// The names of the cases, each a good one and there once: every one that is listed is read.
std::vector<std::string> known_cases(const Hdf5Reader& in) {
  const std::vector<std::string> names = in.texts("/case/name");
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (const std::string fault = case_name_fault(name); !fault.empty())
      in.refuse("/case/name: the case name " + excerpt(name) + " " + fault, kCaseNameRemedy);
    if (!seen.insert(name).second)
      in.refuse("/case/name: two cases are named " + excerpt(name), "Give every case its own name");
  }
  return names;
}

std::string cases_in(const std::filesystem::path& path) {
  const Hdf5Reader in(path);
  check_schema(in);
  return join(known_cases(in), "\n");
}

Timeline timeline_in(const std::filesystem::path& path, const std::string& case_name) {
  const Hdf5Reader in(path);
  check_schema(in);
  const std::vector<std::string> known = known_cases(in);
  if (std::find(known.begin(), known.end(), case_name) == known.end())
    throw input_error(Place{path.string()}, "there is no case " + excerpt(case_name),
                      known_names_hint(case_name, known));
  Timeline timeline = read_timeline_columns(in, "/cases/" + case_name);
  if (const std::string wrong = timeline_fault(timeline).text; !wrong.empty())
    in.refuse("case " + excerpt(case_name) + ": " + wrong);
  return timeline;
}

void write_whole(const std::filesystem::path& path, const TimelineFile& file) {
  Hdf5Writer out;
  write_root(out, file);
  write_case_table(out, file);
  for (const auto& [name, timeline, ranks] : file.cases) {
    if (const std::string fault = case_name_fault(name); !fault.empty())
      throw input_error(Place{path.string()}, "it cannot hold a case " + excerpt(name) + ", which " + fault,
                        kCaseNameRemedy);
    write_timeline_columns(out, "/cases/" + name, *timeline, ranks);
  }
  out.save(path);
}

}  // namespace

void write_timelines(const std::filesystem::path& path, const TimelineFile& file) {
  try {
    write_whole(path, file);
  } catch (const std::bad_alloc&) {
    throw out_of_memory(path.string());
  }
}

std::vector<std::string> timeline_cases(const std::filesystem::path& path) {
  const std::string names = read_apart(path, [&] { return cases_in(path); });
  return names.empty() ? std::vector<std::string>() : split(names, '\n');
}

Timeline read_timeline(const std::filesystem::path& path, const std::string& case_name) {
  return timeline_from_bytes(read_apart(path, [&] { return to_bytes(timeline_in(path, case_name)); }));
}

}  // namespace shardsim
