#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/packed.h"
#include "base/result_stream.h"
#include "base/text.h"
#include "base/tree/tree_editor.h"
#include "base/units.h"
#include "base/workers.h"
#include "cli/arguments/command.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "cli/commands/torchrec_choice.h"
#include "plan/memory_need.h"
#include "plan/plan_file.h"
#include "plan/planner.h"
#include "plan/torchrec_types.h"
#include "study/confidence/iteration_judge.h"
#include "study/notes/notes.h"
#include "study/planning/prepared_case.h"
#include "study/report/wording.h"
#include "study/result/result_fields.h"
#include "study/run/case_result.h"
#include "study/run/study.h"
#include "study/scenario/read_planner.h"

namespace shardsim {
namespace {

// The type of each table; "tiers of rows" where one has several.
std::map<std::string, std::size_t> tables_by_type(const PreparedCase& prepared) {
  std::map<int, std::string> type_of;
  for (const Placement& placement : prepared.plan.placements) {
    const Table& table = prepared.item.workload.tables[static_cast<std::size_t>(placement.table)];
    const bool tier = placement.rows() < table.rows;
    type_of[placement.table] = tier ? "in tiers of rows" : std::string(strategy_name(placement.strategy));
  }
  std::map<std::string, std::size_t> tables;
  for (const auto& [table, type] : type_of) ++tables[type];
  return tables;
}

std::string cut_text(const PreparedCase& prepared) {
  std::vector<std::pair<std::size_t, std::string>> types;
  for (const auto& [type, tables] : tables_by_type(prepared)) types.emplace_back(tables, type);
  std::ranges::stable_sort(types, std::greater<>(), &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> parts;
  for (const auto& [tables, type] : types)
    parts.push_back((parts.empty() ? counted(tables, "table") : std::to_string(tables)) + " " + type);
  return join(parts);
}

// In a process of its own, as the simulation of every case.
CaseResult simulated(const PreparedCase& prepared, const Terminal& terminal) {
  const auto task = [&] { return packed(simulated_case(prepared, false)); };
  return unpacked<CaseResult>(run_in_workers({{prepared.item.name, task}}, {1, {}, terminal.interrupted}).front());
}

Interval interval_of(const Case& item, const CaseResult& result) {
  const IterationJudge judge;
  const double batches = result.drawn ? result.drawn->iteration_ms.standard_error / result.iteration_ms : 0;
  return judge.interval(item,
                        {result.iteration_ms, result.timeline, result.path, {batches, result.placement_log_times}});
}

// The time and the peak, or why they are not known.
std::string simulation_text(const PreparedCase& prepared, const Terminal& terminal) {
  const Case& item = prepared.item;
  if (item.job) return "Its iteration depends on the jobs beside it: run the scenario.";
  try {
    const CaseResult result = simulated(prepared, terminal);
    const Interval interval = interval_of(item, result);
    const std::string doubt = doubt_sentence({&interval}, "");
    return fmt::format("An iteration takes {:.4g} ms (80 % within {}); at its peak the fullest GPU holds {} of {}{}.{}",
                       result.iteration_ms, interval_cell(interval),
                       to_text(Bytes{result.memory_profile.highest().bytes()}), to_text(Bytes{result.memory_capacity}),
                       fits(result) ? "" : ", so a run ends with an out-of-memory error",
                       doubt.empty() ? "" : " " + doubt);
  } catch (const Error& error) {
    return fmt::format("It could not be simulated: {}", error.what());
  }
}

std::string torchrec_text(const PreparedCase& prepared) {
  const Workload& workload = prepared.item.workload;
  const std::string beyond = beyond_torchrec(prepared.plan, workload, row_ranks(workload, prepared.item.cluster));
  if (!beyond.empty()) return fmt::format("TorchRec cannot run it, for it has {}.", beyond);
  return workload.hugectr_rows() ? "" : "TorchRec can run it.";
}

std::string next_text(const PreparedCase& prepared, const std::vector<std::string>& same) {
  std::string words =
      "shardsim why " + shell_word(prepared.scenario.path) + " --case " + shell_word(prepared.item.name);
  for (const std::string& word : same) words += " " + shell_word(word);
  return words;
}

std::string maker_text(const Case& item) {
  const Tree* const name = item.plan_file.empty() ? item.planner.find("name") : nullptr;
  return name == nullptr ? "The plan of the file" : "The plan of " + name->scalar;
}

// Says what somebody wants to know of a plan just made, in a few lines: whose it is, how it cuts the tables, how
// long an iteration takes by it (it is simulated), the memory of the fullest GPU, whether TorchRec runs it, and what to
// ask next. `same`: the options that made the scenario another one, as words. Errors: Interrupted.
std::string plan_answer(const PreparedCase& prepared, const Terminal& terminal, const std::vector<std::string>& same) {
  const Case& item = prepared.item;
  const int width = terminal.width == 0 ? 100 : terminal.width;
  std::string text = wrapped(fmt::format("{} for {} on {}, {} GPUs: {}.", maker_text(item), item.workload.name,
                                         item.cluster.name, prepared.cluster.world_size(), cut_text(prepared)),
                             width, "");
  text += wrapped(simulation_text(prepared, terminal), width, "");
  if (const std::string torchrec = torchrec_text(prepared); !torchrec.empty()) text += wrapped(torchrec, width, "");
  return text + "Next: " + next_text(prepared, same) + "\n";
}

// The case with another planner, at that planner's defaults.
Case with_planner(Case item, const std::string& name) {
  item.planner = named_map(name, Arguments::place("planner"));
  share_torchrec_rules(item.planner, item.memory_model);
  item.plan_file.clear();
  return item;
}

// By what the planner judges plans: its estimate, or the simulation.
void set_objective(Case& item, const std::string& objective) {
  if (item.planner.kind != Tree::Kind::map) {
    throw input_error(Arguments::place("objective"), "the plan of this case comes from a file",
                      "Add --planner torchrec");
  }
  const Tree* const name = item.planner.find("name");
  if (name != nullptr && name->scalar != "torchrec") {
    throw input_error(Arguments::place("objective"), fmt::format("the planner {} has no objective", name->scalar),
                      "Add --planner torchrec, which alone judges its proposals by one, or leave --objective out");
  }
  set_path(item.planner, "objective", text_tree(objective, Arguments::place("objective")));
}

// The options that made the case another one, for a command that asks about the same.
std::vector<std::string> same_options(const Arguments& given) {
  std::vector<std::string> words = given_scenario_options(given);
  for (const auto& [option, key] :
       {std::pair("planner", "planner.name"), std::pair("objective", "planner.objective")}) {
    if (const auto value = given.value(option)) words.insert(words.end(), {"--set", std::string(key) + "=" + *value});
  }
  return words;
}

// Where people look on: beside a file on stdout, else beside the plan on stderr. A script that takes the plan alone
// waits for no simulation.
void answer(const PreparedCase& prepared, const Arguments& given, const Terminal& terminal) {
  const std::string file = given.value("output").value_or("-");
  const bool to_file = file != "-" && !is_stream(file);
  const bool on_terminal = terminal.width != kNoTerminal || terminal.stderr_is_terminal;
  if (!to_file && !on_terminal) return;
  const std::string text = plan_answer(prepared, terminal, same_options(given));
  if (to_file) return print_lines(text);
  for (const std::string& line : split(text, '\n'))
    if (!line.empty()) say(line);
}

int plan(const Arguments& given, const Terminal& terminal) {
  if (given.has("dry-run")) return dry_run(given, terminal);
  const Progress progress = progress_of(given, "planning");
  const Scenario scenario = asked_scenario(given);
  Case item = chosen_case(scenario, given);
  if (const auto planner = given.value("planner")) item = with_planner(item, *planner);
  if (const auto objective = given.value("objective")) set_objective(item, *objective);
  const Cluster cluster = cluster_of(item);
  std::vector<std::string> notes = notes_for(Asker::plan, {item});
  const auto keep = [&](const std::string& note) { notes.push_back(note); };
  const Plan made = make_plan(item, cluster, scenario.seed, {terminal.interrupted, keep});
  deliver(plan_to_json(made, item.workload, cluster), given);
  // Behind what may fail: an error stands alone.
  const PreparedCase prepared(scenario, item, cluster, made);
  for (const std::string& note : notes_for(Asker::planned, {item, &prepared})) keep(note);
  answer(prepared, given, terminal);
  for (const std::string& note : notes) print_note(note);
  return 0;
}

}  // namespace

Command plan_command() {
  return {
      .name = "shardsim plan",
      .summary = "make the plan of a case and write it in TorchRec's JSON form",
      .positionals = {{"SCENARIO", "A scenario file."}},
      .options =
          std::vector{
              case_option(),
              Option{"planner", 0, "NAME",
                     "Plan with this planner and its default options instead of the case's own planner."},
              Option{"objective", 0, "NAME",
                     "The way in which the planner torchrec compares plans: by its own estimate (estimated, "
                     "the default) or by simulating them (simulated)."},
              Option{"dry-run", 0, "CLUSTERS",
                     "Instead of a plan, print what TorchRec's planner estimates for the case on each of these "
                     "clusters, which are separated by commas, with as many GPUs as the case has, and beside it "
                     "the simulated iteration of each plan."},
              Option{.name = "json",
                     .help = "Print the dry run as one JSON document, with statistics and plans.",
                     .needs = "dry-run"},
              output_file_option(), force_option()} +
          scenario_options(),
      .examples = {"shardsim plan scenarios/flexshard.yaml --case rm1/flexshard_3tier -o out/plan.json",
                   "shardsim plan scenarios/toy.yaml --case flexshard_3tier --dry-run dgx_a100_80gb,hgx_h100_8x400g"},
      .run = plan};
}

}  // namespace shardsim
