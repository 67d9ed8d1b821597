#include <fmt/format.h>

#include "base/result_stream.h"
#include "base/text.h"
#include "base/tree/tree_editor.h"
#include "cli/commands/all.h"
#include "cli/commands/dry_run.h"
#include "cli/commands/plan_answer.h"
#include "cli/commands/shared.h"
#include "plan/plan_file.h"
#include "plan/planner.h"
#include "study/notes/notes.h"
#include "study/planning/prepared_case.h"
#include "study/run/study.h"
#include "study/scenario/read_planner.h"

namespace shardsim {
namespace {

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
