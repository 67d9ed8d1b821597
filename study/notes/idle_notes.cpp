#include <fmt/format.h>

#include "base/text.h"
#include "study/notes/case_notes.h"

namespace shardsim {
namespace {

std::string of_output_types(const Case& item) {
  const Tree* const name = item.planner.find("name");
  if (!item.plan_file.empty() || name == nullptr || name->scalar != "torchrec") return "";
  MapReader reader(item.planner, "planner");
  reader.name("name");
  return torchrec::output_types_note(torchrec::read_planner_options(reader), item.workload);
}

std::string of_idle_caches(const Case& item, const Plan& plan) {
  if (plan.idle_caches.empty()) return "";
  constexpr std::size_t kShown = 3;
  std::vector<std::string> tables;
  for (const int table : plan.idle_caches) tables.push_back(item.workload.tables[static_cast<std::size_t>(table)].name);
  const std::size_t more = tables.size() > kShown ? tables.size() - kShown : 0;
  tables.resize(tables.size() - more);
  return fmt::format(
      "cache_params of the plan file have no effect on tables whose compute kernel has no cache (tables: {}{}).",
      join(tables), more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

std::vector<std::string> idle_notes(const Case& item, const Plan& plan) {
  std::vector<std::string> notes;
  for (const std::string& note : {of_output_types(item), of_idle_caches(item, plan)})
    if (!note.empty()) notes.push_back(note);
  return notes;
}

}  // namespace shardsim
