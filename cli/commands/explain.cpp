#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/document/document.h"
#include "base/text.h"
#include "base/tree/json.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "cli/commands/torchrec_choice.h"
#include "plan/memory_model.h"
#include "plan/plan_file.h"
#include "plan/planner.h"
#include "plan/torchrec/bridge/choice.h"
#include "plan/torchrec/bridge/given_plan.h"
#include "plan/torchrec/report/statistics.h"
#include "plan/torchrec/report/text.h"
#include "plan/unsharded_tables.h"
#include "study/planning/prepared_case.h"
#include "study/run/study.h"
#include "study/scenario/read_case.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

// A plan with the inputs that its figures follow from.
struct PlanToExplain {
  torchrec::RunSettings settings;
  torchrec::RunResult run;
  std::vector<std::string> notes;  // for the reader, a sentence or two each
  Json unsized = Json::array();    // tables that are part of the plan and of no figure: the file says no size of them
};

bool is_unsized(const StandalonePlan& plan, std::size_t table) {
  return std::find(plan.unsized.begin(), plan.unsized.end(), static_cast<int>(table)) != plan.unsized.end();
}

// The name of each table with the path of its module in the plan, with which the names of some begin already.
std::vector<std::string> fqns_of(const StandalonePlan& given) {
  const std::vector<std::string> modules = module_paths(given.workload, given.plan);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    torchrec::TableSpec table = torchrec::table_spec(given.workload.tables[i], given.workload);
    table.module = modules[i];
    names.push_back(table.fqn());
  }
  return names;
}

// Takes the tables of unknown size out of `plan`: of one row and one column they would be, in every total.
Json take_unsized(StandalonePlan& given) {
  const std::vector<std::string> names = fqns_of(given);
  Json unsized = Json::array();
  std::vector<Placement> rest;
  for (Placement& placement : given.plan.placements) {
    const auto index = static_cast<std::size_t>(placement.table);
    if (!is_unsized(given, index)) {
      rest.push_back(std::move(placement));
      continue;
    }
    unsized.push_back({{"fqn", names[index]},
                       {"sharding_type", strategy_name(placement.strategy)},
                       {"compute_kernel", placement.compute_kernel},
                       {"ranks", placement.holders.front()}});
  }
  given.plan.placements = std::move(rest);
  return unsized;
}

torchrec::PlannerRequest request_of(const StandalonePlan& given) {
  torchrec::PlannerRequest request = torchrec::request_of(given.workload);
  for (std::size_t i = request.order.size(); i-- > 0;) {
    if (!is_unsized(given, request.order[i])) continue;
    request.tables.erase(request.tables.begin() + static_cast<std::ptrdiff_t>(i));
    request.order.erase(request.order.begin() + static_cast<std::ptrdiff_t>(i));
  }
  torchrec::Topology& topology = request.settings.topology;
  if (given.cpus) topology.device = torchrec::Device::cpu;
  topology.world_size = given.ranks;
  topology.local_world_size = given.ranks_per_host;
  set_capacity(topology, 0, 0);
  return request;
}

std::vector<std::string> fqns_of(const Json& unsized) {
  std::vector<std::string> names;
  for (const Json& table : unsized) names.push_back(table["fqn"]);
  return names;
}

torchrec::PlannerOptions options_of(const Case& item, const Arguments& given) {
  torchrec::PlannerOptions options = torchrec_options(item);
  if (const auto rates = given.value("rates")) options.topology.torchrec_rates = *rates == "torchrec";
  return options;
}

// The plan that the planner of the case chose, with its own figures.
PlanToExplain chosen_by_torchrec(const Case& item, const torchrec::PlannerOptions& options, std::uint64_t seed,
                                 const PlanWatch& watch) {
  PlanToExplain explained;
  if (options.simulated) explained.notes.emplace_back("Objective 'estimated' is shown; 'shardsim plan' simulates.");
  torchrec::Choice choice = torchrec_choice(item, options, seed, watch);
  explained.settings = std::move(choice.request.settings);
  explained.run = std::move(choice.run);
  return explained;
}

// The plan of a case, which keeps the case's constraints, and where its file, if it has one, describes each table.
struct CasePlan {
  Plan plan;
  std::vector<Place> entries;
};

CasePlan plan_of(const Case& item, const Cluster& cluster, std::uint64_t seed, const PlanWatch& watch) {
  CasePlan of_case;
  if (item.plan_file.empty()) {
    of_case.plan = unchecked_plan(item, cluster, seed, watch);
  } else {
    of_case.plan = checked_plan(read_json_file(item.plan_file), item.workload, cluster, true, &of_case.entries);
  }
  check_made_plan(of_case.plan, item, cluster);
  return of_case;
}

PlanToExplain estimated(const Case& item, const torchrec::PlannerOptions& options, std::uint64_t seed,
                        const PlanWatch& watch) {
  const Cluster cluster = cluster_of_plan(item);
  torchrec::PlannerRequest request = torchrec::planner_request(options, item.workload, cluster);
  PlanToExplain explained;
  try {
    const CasePlan given = plan_of(item, cluster, seed, watch);
    explained.run = torchrec::given_run(given.plan, item.workload, request, given.entries);
  } catch (const torchrec::PlannerError& error) {
    throw torchrec::as_input_error(error);
  }
  explained.settings = std::move(request.settings);
  std::vector<std::string> unsharded;
  for (const Table& table : item.workload.tables)
    if (!table.sharded) unsharded.push_back(table.name);
  if (!unsharded.empty())
    explained.notes.push_back(fmt::format(
        "Not sharded, and counted here as data_parallel: {}. TorchRec's planner places no such table, and has "
        "it among the dense parameters that it reserves memory for.",
        printable(first_names(unsharded, 3))));
  return explained;
}

torchrec::RunResult run_of(const StandalonePlan& given, const torchrec::PlannerRequest& request) {
  std::vector<Place> entries;
  for (const Table& table : given.workload.tables) entries.push_back(table.place);
  try {
    return torchrec::given_run(given.plan, given.workload, request, entries);
  } catch (const torchrec::PlannerError& error) {
    throw torchrec::as_input_error(error);
  }
}

// `error` at the file where it has no place of its own.
Error in_file(const std::string& path, const Error& error) {
  return error.place().source.empty() ? Error(error.failure(), Place{path}, error.what(), "") : error;
}

// A plan file alone: TorchRec's own defaults stand for what it does not say. Errors: Failure::input with the line;
// Failure::infeasible.
PlanToExplain explained_plan_file(const std::string& path) {
  StandalonePlan given = standalone_plan(read_json_file(path));
  PlanToExplain explained;
  explained.unsized = take_unsized(given);
  const torchrec::PlannerRequest request = request_of(given);
  explained.settings = request.settings;
  try {
    explained.run = run_of(given, request);
  } catch (const Error& error) {
    throw in_file(path, error);
  }
  explained.notes = {
      "A plan file alone: fp32 pooled tables, one id a sample, batch 512, and TorchRec's default machine are "
      "assumed, and times are what TorchRec's planner estimates for them, not a simulation. Point a scenario at it "
      "(plan: {file: ...}) for your own."};
  if (explained.unsized.empty()) return explained;
  const std::size_t count = explained.unsized.size();
  explained.notes.push_back(fmt::format(
      "Not counted: {} ({}), whose size a plan file does not state. Explain the scenario that uses the plan to have {} "
      "counted.",
      counted(count, "data_parallel table"), printable(first_names(fqns_of(explained.unsized), 3)),
      count == 1 ? "it" : "them"));
  return explained;
}

// Says whose times the page shows, and how to get those of the simulation; nothing else on the page says so.
std::string estimate_note(const Scenario& scenario, const Case& item, const Arguments& given) {
  const bool changed = given.has("set") || given.has("seed");
  return fmt::format(
      "Times are what TorchRec's planner estimates for this plan, not a simulation; 'shardsim run {} --case {}'{} "
      "simulates it.",
      scenario.path, item.name, changed ? " with the same --set and --seed" : "");
}

// The plan of a case. It need not fit: how far it is from fitting is what one may want to know.
// Errors: Failure::infeasible, naming the case, when its planner finds no plan; Failure::input; Interrupted.
PlanToExplain explained_case(const Case& item, const Arguments& given, std::uint64_t seed, const PlanWatch& watch) {
  try {
    const torchrec::PlannerOptions options = options_of(item, given);
    return plans_by_torchrec(item) && !has_unsharded(item.workload) ? chosen_by_torchrec(item, options, seed, watch)
                                                                    : estimated(item, options, seed, watch);
  } catch (const Error& error) {
    throw in_case(item, error);
  }
}

// A plan's figures, as far as they are asked for.
struct Figures {
  torchrec::Statistics statistics;
  bool one_table = false;
};

// Leaves the parts of table `name` only, which may be written with the path of its module.
void keep_table(Figures& figures, const std::string& name, const Json& unsized) {
  const auto other = [&](const torchrec::TableSpec& table) { return table.name != name && table.fqn() != name; };
  const std::vector<std::string> left_out = fqns_of(unsized);
  std::vector<std::string> names;
  for (const auto& row : figures.statistics.tables) names.push_back(row.table->name);
  names.insert(names.end(), left_out.begin(), left_out.end());
  std::erase_if(figures.statistics.tables, [&](const auto& row) { return other(*row.table); });
  figures.one_table = true;
  if (!figures.statistics.tables.empty()) return;
  constexpr std::size_t kShown = 20;  // names in a message
  const std::string likely = nearest(name, names);
  const bool known =
      std::ranges::any_of(left_out, [&](const std::string& fqn) { return fqn == name || fqn.ends_with("." + name); });
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

Json document_of(const Figures& figures, const PlanToExplain& plan) {
  Json statistics = Json::parse(torchrec::statistics_json(figures.statistics));
  if (figures.one_table) statistics = {{"tables", statistics["tables"]}};
  Json document = {{"schema", "shardsim.explanation/1"},
                   {"memory_model", "torchrec"},
                   {"planner_version", torchrec::name_of(plan.settings.estimate.version)},
                   {"statistics", std::move(statistics)},
                   {"tables", Json::parse(torchrec::explanation_json(figures.statistics))}};
  if (!plan.unsized.empty() && !figures.one_table) document["tables_of_unknown_size"] = plan.unsized;
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
