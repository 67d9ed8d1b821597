#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/document/document.h"
#include "base/text.h"
#include "cli/commands/all.h"
#include "cli/commands/plan_to_explain.h"
#include "cli/commands/shared.h"
#include "plan/memory_model.h"
#include "plan/planner.h"
#include "plan/torchrec/report/statistics.h"
#include "plan/torchrec/report/text.h"
#include "study/planning/prepared_case.h"
#include "study/run/study.h"
#include "study/scenario/read_case.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

// Says whose times the page shows, and how to get those of the simulation; nothing else on the page says so.
std::string estimate_note(const Scenario& scenario, const Case& item, const Arguments& given) {
  const bool changed = given.has("set") || given.has("seed");
  return fmt::format(
      "Times are what TorchRec's planner estimates for this plan, not a simulation; 'shardsim run {} --case {}'{} "
      "simulates it.",
      scenario.path, item.name, changed ? " with the same --set and --seed" : "");
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
  const bool known = std::ranges::any_of(
      unsized, [&](const UnsizedTable& table) { return table.fqn == name || table.fqn.ends_with("." + name); });
  if (known) {
    throw input_error(Arguments::place("table"),
                      fmt::format("table {} is data_parallel, and a plan file does not state the size of such a table",
                                  excerpt(name)),
                      "Explain the scenario that uses the plan");
  }
  throw input_error(Arguments::place("table"), fmt::format("the plan has no table {}", excerpt(name)),
                    names.size() <= kShown ? known_names_hint(name, names)
                    : likely.empty()       ? fmt::format("It has {} tables", names.size())
                                           : fmt::format("Did you mean '{}'?", likely));
}

Json json_of(const std::vector<UnsizedTable>& unsized) {
  Json list = Json::array();
  for (const UnsizedTable& table : unsized)
    list.push_back({{"fqn", table.fqn},
                    {"sharding_type", strategy_name(table.strategy)},
                    {"compute_kernel", table.compute_kernel},
                    {"ranks", table.ranks}});
  return list;
}

Json document_of(const Figures& figures, const PlanToExplain& plan) {
  Json statistics = Json::parse(torchrec::statistics_json(figures.statistics));
  if (figures.one_table) statistics = {{"tables", statistics["tables"]}};
  Json document = {{"schema", "shardsim.explanation/1"},
                   {"memory_model", "torchrec"},
                   {"planner_version", torchrec::name_of(plan.settings.estimate.version)},
                   {"statistics", std::move(statistics)},
                   {"tables", Json::parse(torchrec::explanation_json(figures.statistics))}};
  if (!plan.unsized.empty() && !figures.one_table) document["tables_of_unknown_size"] = json_of(plan.unsized);
  return document;
}

// TorchRec divides by 2^30 and 2^20, too: whoever lays its log beside these tables finds the same numbers.
constexpr const char* kTorchrecUnits =
    "TorchRec writes GB for these GiB (2^30 bytes), and MB for these MiB (2^20 bytes).";

std::string version_line(torchrec::PlannerVersion version) {
  return fmt::format("Rules: TorchRec's planner of {} (commit {})\n", torchrec::name_of(version),
                     torchrec::commit_of(version));
}

constexpr std::size_t kScreenLines = 24;

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

int prose_width(const Terminal& terminal) {
  return terminal.width == kNoTerminal ? static_cast<int>(torchrec::kTerminalColumns) : terminal.width;
}

// A terminal has room for this much: the extremes of the ranks, and the slowest tables.
std::string brief_text(std::string text, const Figures& figures, const Terminal& terminal) {
  const int width = prose_width(terminal);
  text += torchrec::summary_text(figures.statistics) + "\n";
  const std::string end =
      wrapped("Perf is the sum over all ranks of a table.", width, "") +
      wrapped("With --details: every rank, how uneven they are, and how the bytes of each table are made up.", width,
              "") +
      wrapped(kTorchrecUnits, width, "");
  constexpr std::size_t kAround = 3;  // lines of the table's head, of the columns left out, and of the other tables
  const std::size_t used = lines_of(text) + lines_of(end) + kAround;
  const Sheet slowest = torchrec::slowest_tables(figures.statistics, kScreenLines > used ? kScreenLines - used : 1);
  return text + sheet_text(slowest, width, terminal.colour) + end;
}

std::string text_of(const Figures& figures, const PlanToExplain& plan, bool whole, const Terminal& terminal) {
  std::string text = version_line(plan.settings.estimate.version);
  for (const std::string& note : plan.notes) text += wrapped(note, prose_width(terminal), "");
  text += "\n";
  if (!whole && !figures.one_table) return brief_text(std::move(text), figures, terminal);
  if (!figures.one_table) text += torchrec::statistics_text(figures.statistics) + "\n";
  return text + torchrec::explanation_text(figures.statistics) + "\n" + kTorchrecUnits + "\n";
}

void print_torchrec(const PlanToExplain& plan, const Arguments& given, const Terminal& terminal) {
  Figures figures{torchrec::statistics_of(plan.run, plan.settings), false};
  if (const auto table = given.value("table")) keep_table(figures, *table, plan.unsized);
  const std::string text = given.has("json") ? document_of(figures, plan).dump(1) + "\n"
                                             : text_of(figures, plan, shows_details(given), terminal);
  print_result(text);
}

Plan plan_or_failure(const Case& item, const Cluster& cluster, std::uint64_t seed, const PlanWatch& watch) {
  try {
    return plan_of(item, cluster, seed, watch).plan;
  } catch (const Error& error) {
    throw in_case(item, error);
  }
}

// Any other memory model: what the tables, or the one asked for, take on each rank, at rest and at the peak.
std::vector<PlacementMemory> memory_by_model(const Case& item, std::uint64_t seed, const Arguments& given,
                                             const PlanWatch& watch) {
  const Cluster cluster = cluster_of_plan(item);
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
    const auto memory = done_in_case(item, [&] { return model->on_ranks(placement, item.workload, cluster); });
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      ranks[r].static_bytes += memory[r].static_bytes;
      ranks[r].dynamic_bytes += memory[r].dynamic_bytes;
    }
  }
  return ranks;
}

// The ranks whose figures are the largest and the smallest, where all have no room on a screen.
std::string extremes_text(const std::vector<PlacementMemory>& memory) {
  const auto bytes = [](const PlacementMemory& rank) { return rank.static_bytes + rank.dynamic_bytes; };
  const auto [least, most] = std::ranges::minmax_element(memory, {}, bytes);
  const auto line = [&](const char* what, auto rank) {
    return fmt::format("{} rank: {} GiB of HBM, {} of them static, on rank {}\n", what,
                       torchrec::decimals_text(bytes(*rank) / (1 << 30), 3),
                       torchrec::decimals_text(rank->static_bytes / (1 << 30), 3), rank - memory.begin());
  };
  return line("fullest", most) + line("emptiest", least) + "With --details: every rank.\n";
}

std::string memory_text(const std::vector<PlacementMemory>& memory, bool whole) {
  const auto gib = [](double bytes) { return torchrec::decimals_text(bytes / (1 << 30), 3); };
  std::vector<std::vector<std::string>> cells;
  for (const PlacementMemory& rank : memory) {
    cells.push_back({gib(rank.static_bytes), gib(rank.dynamic_bytes), gib(rank.static_bytes + rank.dynamic_bytes)});
  }
  const std::string text = torchrec::ranks_text({"Ranks", "Static (GiB)", "Dynamic (GiB)", "HBM (GiB)"}, cells, 48);
  return whole || lines_of(text) <= kScreenLines ? text : extremes_text(memory);
}

void print_by_model(const Case& item, std::uint64_t seed, const Arguments& given, const PlanWatch& watch) {
  const std::vector<PlacementMemory> ranks = memory_by_model(item, seed, given, watch);
  Json list = Json::array();
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    list.push_back({{"rank", r}, {"static_bytes", ranks[r].static_bytes}, {"dynamic_bytes", ranks[r].dynamic_bytes}});
  }
  const Json document = {
      {"schema", "shardsim.explanation/1"}, {"memory_model", item.memory_model.find("name")->scalar}, {"ranks", list}};
  print_result(given.has("json") ? document.dump(1) + "\n" : memory_text(ranks, shows_details(given)));
}

void require_plan_file_alone(const Arguments& given) {
  for (const char* name : {"case", "seed", "set", "rates"}) {
    if (!given.has(name)) continue;
    throw input_error(
        Arguments::place(name),
        "this option needs a scenario; a plan file has no case, seed, value or machine to change",
        fmt::format("Leave --{} out, or explain a scenario that names the plan (plan: {{file: ...}})", name));
  }
  if (given.text("memory-model") != "torchrec") {
    throw input_error(Arguments::place("memory-model"),
                      "without a scenario, a plan file can only be explained with the memory model torchrec",
                      "Write a scenario that uses the plan (plan: {file: ...})");
  }
}

// Bytes are counted as TorchRec's planner counts them, whatever else the case says.
void refuse_other_memory_model(const Case& item, const Arguments& given) {
  if (item.memory_model.find("name")->scalar == "torchrec") return;
  for (const auto& [path, value] : overrides(given).set) {
    if (path != "memory_model" && !path.starts_with("memory_model.")) continue;
    throw input_error(Arguments::place("set " + path), "bytes are counted by the memory model torchrec here",
                      "Name the other one with --memory-model, too");
  }
}

int explain_plan(const Arguments& given, const Terminal& terminal) {
  const Progress progress = progress_of(given, "planning");
  const std::string& path = given.positional()[0];
  if (path.ends_with(".json")) {
    require_plan_file_alone(given);
    print_torchrec(explained_plan_file(path), given, terminal);
    return 0;
  }
  const Scenario scenario = read_scenario(path, overrides(given));
  const Case& item = chosen_case(scenario, given);
  const PlanWatch watch{terminal.interrupted, {}};
  if (given.text("memory-model") == "torchrec") {
    refuse_other_memory_model(item, given);
    PlanToExplain explained = explained_case(item, given, scenario.seed, watch);
    explained.notes.push_back(estimate_note(scenario, item, given));
    print_torchrec(explained, given, terminal);
  } else {
    if (given.has("rates"))
      throw input_error(Arguments::place("rates"), "only the memory model torchrec estimates times",
                        "Leave one of --rates and --memory-model out");
    print_by_model(item, scenario.seed, given, watch);
  }
  return 0;
}

}  // namespace

Command explain_command() {
  std::vector<Option> options = scenario_options();
  options.back() = {"memory-model", 0, "NAME",
                    "Count memory by this model. The model torchrec explains every part; any other gives the bytes per "
                    "rank at rest and at the peak of an iteration.",
                    "torchrec"};
  return {
      .name = "shardsim explain",
      .summary = "show how much memory each table and each rank of a plan takes, as TorchRec's planner counts it",
      .positionals = {{"PLAN.json|SCENARIO", "A plan file, or a scenario whose plan is to be explained."}},
      .options =
          std::vector{
              case_option(), Option{"table", 0, "NAME", "Show only this table."},
              Option{.name = "rates",
                     .value = "RATES",
                     .help =
                         "Estimate times with the rates of the cluster, or with the constants of TorchRec's planner "
                         "(torchrec), whoever made the plan. Default: as the planner torchrec of the case says, or "
                         "else cluster.",
                     .choices = {"cluster", "torchrec"}},
              details_option(),
              Option{"json", 0, "",
                     "Print one JSON document instead of tables; it lists every rank and every table separately."}} +
          options,
      .examples = {"shardsim explain scenarios/toy.yaml --case row_wise",
                   "shardsim explain scenarios/torchrec_guide.yaml --case code --json"},
      .run = explain_plan};
}

}  // namespace shardsim
