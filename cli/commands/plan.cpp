#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/tree/tree_editor.h"
#include "base/units.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "models/collective/fitted_overheads.h"
#include "plan/memory_model.h"
#include "plan/memory_need.h"
#include "plan/plan_file.h"
#include "plan/planner.h"
#include "plan/torchrec_types.h"
#include "study/planning/prepared_case.h"
#include "study/run/load_notes.h"
#include "study/run/memory_notes.h"
#include "study/run/study.h"
#include "study/scenario/read_case.h"

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
  set_path(item.planner, "objective", text_tree(objective, Arguments::place("objective")));
}

// On stderr, beside the plan: how evenly it spreads what is looked up, with the real shares of its owners unless the
// case says otherwise. A plan need not be one that can be lowered.
void print_loads(const PreparedCase& prepared) {
  try {
    print_note(load_statistics(prepared.program()));
    const auto loads = rank_loads(prepared.program());
    if (!loads) return;
    for (const std::string& note : load_notes(*loads, prepared)) print_note(note);
  } catch (const Error& error) {
    print_note("The loads of this plan are not known: " + std::string(error.what()));
  }
}

// The peak of a simulated iteration, as `run` judges it; nothing where the plan cannot be simulated.
std::string peak_text(const PreparedCase& prepared, MemoryNeed need) {
  try {
    need.peak = simulated_memory(prepared).highest().bytes();
    const std::int64_t over = bytes_over(need, prepared.cluster.memory_per_rank().count);
    std::string text = fmt::format("{:.4g} GiB at its simulated peak", static_cast<double>(*need.peak) / kGiB);
    if (over <= 0) return text;
    return text + fmt::format(", {:.2f} GiB too much: the run would end with an out-of-memory error",
                              static_cast<double>(over) / kGiB);
  } catch (const Error&) {
    return "a simulated peak that is not known";
  }
}

// On stderr, too: a plan that fits by the memory model may still run out of memory.
void print_memory(const PreparedCase& prepared) {
  const auto model = make_memory_model(prepared.item.memory_model);
  const std::vector<std::int64_t> bytes =
      memory_per_rank(prepared.plan, prepared.item.workload, prepared.cluster, *model);
  const MemoryNeed need{std::ranges::max(bytes), std::nullopt, model->counts_buffers()};
  print_note(fmt::format("Of {}, the fullest holds {:.4g} GiB by the memory model, and {}.",
                         room_text(prepared.cluster), static_cast<double>(need.by_model) / kGiB,
                         peak_text(prepared, need)));
  for (const std::string& note : host_rows_notes(prepared)) print_note(note);
}

void print_beyond_torchrec(const PreparedCase& prepared) {
  const std::string beyond = beyond_torchrec(prepared.plan, prepared.item.workload);
  if (beyond.empty()) return;
  print_note(fmt::format("TorchRec cannot run this plan, which has {}. With --torchrec-only it is a plan for TorchRec.",
                         beyond));
}

int plan(const Arguments& given, const Terminal& terminal) {
  const Scenario scenario = asked_scenario(given);
  Case item = chosen_case(scenario, given);
  if (const auto planner = given.value("planner")) item = with_planner(item, *planner);
  if (const auto objective = given.value("objective")) set_objective(item, *objective);
  const Cluster cluster = cluster_of(item);
  for (const std::string& line : cluster_notes(item.cluster)) print_note(line);
  for (const std::string& line : fit_reach_notes(item.cluster)) print_note(line);
  const Plan made = make_plan(item, cluster, scenario.seed, {terminal.interrupted, print_note});
  deliver(plan_to_json(made, item.workload, cluster), given);
  // Behind what may fail: an error stands alone.
  const PreparedCase prepared(scenario, item, cluster, made);
  print_beyond_torchrec(prepared);
  print_memory(prepared);
  print_loads(prepared);
  return 0;
}

}  // namespace

Command plan_command() {
  return {
      .name = "shardsim plan",
      .summary = "make the plan of a case and write it in TorchRec's JSON form",
      .positionals = {{"SCENARIO", "A scenario file."}},
      .options =
          std::vector{case_option(),
                      Option{"planner", 0, "NAME",
                             "Plan with this planner and its default options instead of the case's own planner."},
                      Option{"objective", 0, "NAME",
                             "The way in which the planner torchrec compares plans: by its own estimate (estimated, "
                             "the default) or by simulating them (simulated)."},
                      output_file_option(), force_option()} +
          scenario_options(),
      .examples = {"shardsim plan scenarios/toy.yaml --case flexshard_3tier",
                   "shardsim plan scenarios/flexshard.yaml --case rm1/flexshard_3tier -o out/plan.json"},
      .run = plan};
}

}  // namespace shardsim
