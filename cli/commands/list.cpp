#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/arguments/arguments.h"
#include "cli/arguments/process.h"
#include "cli/commands/all.h"
#include "models/collective/collective.h"
#include "models/compute/compute_model.h"
#include "models/software/software.h"
#include "plan/memory_model.h"
#include "plan/planner.h"
#include "sim/engine/network.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

struct Row {
  std::string name;
  std::string help;
};

template <typename Entry>
std::vector<Row> rows_of(std::span<const Entry> entries) {
  std::vector<Row> rows;
  for (const Entry& entry : entries) rows.push_back({std::string(entry.name), std::string(entry.help)});
  return rows;
}

std::vector<Row> shipped_rows(const std::string& kind) {
  std::vector<Row> rows;
  for (const std::string& name : shipped(kind)) {
    const Tree tree = load_named(name, kind, "", {});
    const Tree* summary = tree.find("summary");
    rows.push_back({name, summary ? summary->scalar : ""});
  }
  return rows;
}

std::vector<Row> software_rows() {
  std::vector<Row> rows;
  for (const Software& preset : shipped_software().presets) rows.push_back({preset.name, preset.summary});
  return rows;
}

// `what` is one of the choices declared below.
std::vector<Row> rows_for(const std::string& what) {
  if (what == "planners") return rows_of(planners());
  if (what == "compute-models") return rows_of(compute_models());
  if (what == "memory-models") return rows_of(memory_models());
  if (what == "collectives") return rows_of(collective_algorithms());
  if (what == "networks") return rows_of(networks());
  if (what == "software") return software_rows();
  return shipped_rows(what);
}

int list(const Arguments& given, const Terminal&) {
  const std::vector<Row> rows = rows_for(given.positional()[0]);
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  for (const Row& row : rows) print_result(fmt::format("{:<{}}  {}\n", row.name, width, row.help));
  return 0;
}

}  // namespace

Command list_command() {
  return {.name = "shardsim list",
          .summary = "list the names that a scenario can use: planners, clusters, workloads, models",
          .positionals = {{"KIND",
                           "The kind of names to list.",
                           false,
                           {"planners", "compute-models", "memory-models", "collectives", "networks", "clusters",
                            "workloads", "software"}}},
          .examples = {"shardsim list planners", "shardsim list clusters"},
          .run = list};
}

}  // namespace shardsim
