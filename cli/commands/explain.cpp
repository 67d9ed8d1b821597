#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/document/document.h"
#include "base/text.h"
#include "cli/commands/all.h"
#include "cli/commands/explained_plan.h"
#include "cli/commands/shared.h"
#include "plan/memory_model.h"
#include "plan/torchrec/report/statistics.h"
#include "plan/torchrec/report/text.h"
#include "sim/study/study.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

Json unsized_json(const std::vector<UnsizedTable>& tables) {
  Json list = Json::array();
  for (const UnsizedTable& table : tables) {
    list.push_back({{"fqn", table.fqn},
                    {"sharding_type", table.sharding_type},
                    {"compute_kernel", table.compute_kernel},
                    {"ranks", table.ranks}});
  }
  return list;
}

// A plan's figures, as far as they are asked for.
struct Figures {
  torchrec::Statistics statistics;
  bool one_table = false;
};

// Leaves the parts of table `name` only, which may be written with the path of its module.
void keep_table(Figures& figures, const std::string& name, const std::vector<UnsizedTable>& unsized) {
  const auto other = [&](const torchrec::TableSpec& table) { return table.name != name && table.fqn() != name; };
  std::vector<std::string> names;
  for (const auto& row : figures.statistics.tables) names.push_back(row.table->name);
  for (const UnsizedTable& table : unsized) names.push_back(table.fqn);
  std::erase_if(figures.statistics.tables, [&](const auto& row) { return other(*row.table); });
  figures.one_table = true;
  if (!figures.statistics.tables.empty()) return;
  constexpr std::size_t kShown = 20;  // names in a message
  const std::string likely = nearest(name, names);
  const bool known = std::any_of(unsized.begin(), unsized.end(), [&](const UnsizedTable& table) {
    return table.fqn == name || table.fqn.ends_with("." + name);
  });
  if (known) {
    throw input_error(Arguments::place("table"),
                      fmt::format("table {} is data_parallel, and a plan file says no size of it", excerpt(name)),
                      "Explain the scenario that names the plan");
  }
  throw input_error(Arguments::place("table"), fmt::format("the plan has no figures of a table {}", excerpt(name)),
                    names.size() <= kShown ? known_names_hint(name, names)
                    : likely.empty()       ? fmt::format("It has {} tables", names.size())
                                           : fmt::format("Did you mean '{}'?", likely));
}

Json document_of(const Figures& figures, const PlanToExplain& plan) {
  Json statistics = Json::parse(torchrec::statistics_json(figures.statistics));
  if (figures.one_table) statistics = {{"tables", statistics["tables"]}};
  Json document = {{"schema", "shardsim.explanation/1"},
                   {"memory_model", "torchrec"},
                   {"statistics", std::move(statistics)},
                   {"tables", Json::parse(torchrec::explanation_json(figures.statistics))}};
  if (!plan.unsized.empty() && !figures.one_table) document["tables_of_unknown_size"] = unsized_json(plan.unsized);
  return document;
}

std::string text_of(const Figures& figures, const PlanToExplain& plan) {
  std::string text;
  for (const std::string& note : plan.notes)
    text += wrapped(note, static_cast<int>(torchrec::kTerminalColumns), "") + "\n";
  if (!figures.one_table) text += torchrec::statistics_text(figures.statistics) + "\n";
  return text + torchrec::explanation_text(figures.statistics);
}

void print_torchrec(const PlanToExplain& plan, const Arguments& given) {
  Figures figures{torchrec::statistics_of(plan.run, plan.settings), false};
  if (const auto table = given.value("table")) keep_table(figures, *table, plan.unsized);
  const std::string text = given.has("json") ? document_of(figures, plan).dump(1) + "\n" : text_of(figures, plan);
  print_result(text);
}

Plan plan_or_failure(const Case& item, const Cluster& cluster, std::uint64_t seed, const PlanWatch& watch) {
  try {
    return unchecked_plan(item, cluster, seed, watch);
  } catch (const Error& error) {
    throw in_case(item, error);
  }
}

// Any other memory model: what the tables, or the one asked for, take on each rank, at rest and at the peak.
std::vector<PlacementMemory> memory_by_model(const Case& item, std::uint64_t seed, const Arguments& given,
                                             const PlanWatch& watch) {
  const Cluster cluster = cluster_of(item);
  const Plan plan = plan_or_failure(item, cluster, seed, watch);
  const auto model = make_memory_model(item.memory_model);
  const auto table = given.value("table");
  std::vector<std::string> names;
  for (const Table& known : item.workload.tables) names.push_back(known.name);
  if (table && std::find(names.begin(), names.end(), *table) == names.end()) {
    throw input_error(Arguments::place("table"), fmt::format("the workload has no table {}", excerpt(*table)),
                      known_names_hint(*table, names));
  }
  std::vector<PlacementMemory> ranks(static_cast<std::size_t>(cluster.world_size()));
  for (const Placement& placement : plan.placements) {
    if (table && names[static_cast<std::size_t>(placement.table)] != *table) continue;
    const auto memory = model->on_ranks(placement, item.workload, cluster);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      ranks[r].static_bytes += memory[r].static_bytes;
      ranks[r].dynamic_bytes += memory[r].dynamic_bytes;
    }
  }
  return ranks;
}

std::string memory_text(const std::vector<PlacementMemory>& memory) {
  const auto gb = [](double bytes) { return torchrec::decimals_text(bytes / (1 << 30), 3); };
  std::vector<std::vector<std::string>> cells;
  for (const PlacementMemory& rank : memory) {
    cells.push_back({gb(rank.static_bytes), gb(rank.dynamic_bytes), gb(rank.static_bytes + rank.dynamic_bytes)});
  }
  return torchrec::ranks_text({"Ranks", "Static (GB)", "Dynamic (GB)", "HBM (GB)"}, cells, 48);
}

void print_by_model(const Case& item, std::uint64_t seed, const Arguments& given, const PlanWatch& watch) {
  const std::vector<PlacementMemory> ranks = memory_by_model(item, seed, given, watch);
  Json list = Json::array();
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    list.push_back({{"rank", r}, {"static_bytes", ranks[r].static_bytes}, {"dynamic_bytes", ranks[r].dynamic_bytes}});
  }
  const Json document = {
      {"schema", "shardsim.explanation/1"}, {"memory_model", item.memory_model.find("name")->scalar}, {"ranks", list}};
  print_result(given.has("json") ? document.dump(1) + "\n" : memory_text(ranks));
}

void require_plan_file_alone(const Arguments& given) {
  for (const char* name : {"case", "seed", "set"}) {
    if (!given.has(name)) continue;
    throw input_error(
        Arguments::place(name), "a plan file alone has no case, seed or value to change",
        fmt::format("Leave --{} out, or explain a scenario that names the plan (plan: {{file: ...}})", name));
  }
  if (given.text("memory-model") != "torchrec") {
    throw input_error(Arguments::place("memory-model"), "a plan file alone is explained by torchrec's model only",
                      "Point a scenario at the plan (plan: {file: ...})");
  }
}

int explain_plan(const Arguments& given, const Terminal& terminal) {
  const std::string& path = given.positional()[0];
  if (path.ends_with(".json")) {
    require_plan_file_alone(given);
    print_torchrec(explained_plan_file(path), given);
    return 0;
  }
  const Scenario scenario = read_scenario(path, overrides(given));
  const Case& item = chosen_case(scenario, given);
  const PlanWatch watch{terminal.interrupted, {}};
  if (given.text("memory-model") == "torchrec") {
    print_torchrec(explained_case(item, scenario.seed, watch), given);
  } else {
    print_by_model(item, scenario.seed, given, watch);
  }
  return 0;
}

}  // namespace

Command explain_command() {
  std::vector<Option> options = scenario_options();
  options.back() = {"memory-model", 0, "NAME",
                    "Explain by this model: torchrec, or any other, which says the bytes per rank at rest and at the "
                    "peak.",
                    "torchrec"};
  return {.name = "shardsim explain",
          .summary = "say what memory each table and rank of a plan takes, and why, as TorchRec's planner counts it",
          .positionals = {{"PLAN.json|SCENARIO", "A plan file alone, or a scenario."}},
          .options = std::vector{case_option(), Option{"table", 0, "NAME", "Print only the part of this table."},
                                 Option{"json", 0, "",
                                        "Print one JSON document instead of tables, with every rank and table on its "
                                        "own."}} +
                     options,
          .examples = {"shardsim explain scenarios/toy.yaml --case row_wise",
                       "shardsim explain scenarios/torchrec_guide.yaml --case code --json"},
          .run = explain_plan};
}

}  // namespace shardsim
