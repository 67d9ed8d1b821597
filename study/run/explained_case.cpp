#include "study/run/explained_case.h"

#include <algorithm>
#include <memory>

#include "sim/memory/memory_profile.h"
#include "study/notes/memory_notes.h"
#include "study/run/case_result.h"
#include "study/run/drawn_batches.h"

namespace shardsim {
namespace {

PreparedCase ready_case(const Scenario& scenario, const Case& item, const PlanWatch& watch) {
  Cluster cluster = cluster_of(item);
  Plan plan = make_plan(item, cluster, scenario.seed, watch);
  return {scenario, item, std::move(cluster), std::move(plan)};
}

Why why_of(const PreparedCase& prepared, const SimulationResult& simulated) {
  if (simulated.path.steps.empty())
    throw in_case(prepared.item, run_error("the path of its iteration is not known", "Let it run more iterations"));
  return why_of(prepared.program(), prepared.cluster, simulated.path, named_times(simulated.timeline));
}

// The case with its rows in the places that are told, whatever else of it is changed: else another draw may be the
// typical one, and the change of the time would be that of the places.
Case with_rows_in_place(const PreparedCase& prepared) {
  Case item = prepared.item;
  if (const std::optional<int> draw = prepared.row_draw()) item.load.draw = draw;
  return item;
}

// A plan that runs out of memory has no iteration whose path could be shortened.
std::vector<std::string> memory_notes(const PreparedCase& prepared, MemoryProfile profile) {
  CaseResult result;
  result.memory_profile = std::move(profile);
  result.memory_capacity = prepared.cluster.memory_per_rank().count;
  return peak_note({prepared.item, &prepared, &result});
}

std::vector<std::string> memory_notes(const PreparedCase& prepared, const Timeline& timeline) {
  return memory_notes(prepared, memory_profile(prepared.program(), timeline, prepared.plan, prepared.item.workload));
}

// SimGrid allows one engine in a process, and this process has had it.
std::optional<Help> help_where_possible(const Case& item, const Why& why, const Resimulate& simulate) {
  if (!runs_once(item.network)) return help_for(item, why, simulate);
  Help help;
  help.iteration_ms = why.iteration_ms;
  help.remarks.emplace_back(
      "What would help is not simulated on the network simgrid: take fair_queues, whose times are "
      "the same.");
  return help;
}

ExplainedCase explained_plain(const PreparedCase& prepared, bool with_help) {
  SimulationResult simulated = simulate_case(prepared, *prepared.network());
  ExplainedCase explained{why_of(prepared, simulated), std::nullopt, memory_notes(prepared, simulated.timeline)};
  if (with_help)
    explained.help = help_where_possible(with_rows_in_place(prepared), explained.why,
                                         resimulation_of(prepared, std::move(simulated.path)));
  return explained;
}

// Elasticities are those of the mean iteration.
ExplainedCase explained_drawn(const PreparedCase& prepared, bool with_help) {
  const DrawnSimulation drawn = simulate_drawn(prepared, false);
  ExplainedCase explained{why_of(prepared, drawn.nearest), std::nullopt, memory_notes(prepared, drawn.memory)};
  explained.why.left_out.push_back(kept_iteration_text(drawn.figures, explained.why.iteration_ms));
  const Resimulate simulate = [&prepared](const ChangedCase& changed) {
    const PreparedCase other = prepared.with_case(changed.item);
    return Resimulated{drawn_mean_ms(other, changed.edit), std::nullopt};
  };
  if (with_help) explained.help = help_where_possible(with_rows_in_place(prepared), explained.why, simulate);
  return explained;
}

// The machine is everybody's; how much there is to do is the job's own.
Case beside_changed(const Case& other, const Case& changed) {
  Case item = other;
  item.cluster = changed.cluster;
  item.compute_model = changed.compute_model;
  return item;
}

ExplainedCase explained_job(const std::vector<PreparedCase>& jobs, std::size_t own, bool with_help) {
  std::vector<Case> in_place;
  for (const PreparedCase& job : jobs) in_place.push_back(with_rows_in_place(job));
  const auto simulated = [&jobs, &in_place, own](const ChangedCase& changed) {
    std::vector<Case> items;
    for (std::size_t job = 0; job < jobs.size(); ++job)
      items.push_back(job == own ? changed.item : beside_changed(in_place[job], changed.item));
    std::vector<PreparedCase> others;
    others.reserve(jobs.size());
    std::vector<const PreparedCase*> group;
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      others.emplace_back(jobs[job].scenario, items[job], cluster_of(items[job]), jobs[job].plan);
      group.push_back(&others.back());
    }
    return std::move(simulated_side_by_side(group, changed.edit)[own]);
  };
  const JobSimulation as_it_is = simulated({in_place[own], {}, false, 1});
  ExplainedCase explained{why_of(jobs[own], as_it_is.simulation), std::nullopt,
                          memory_notes(jobs[own], as_it_is.simulation.timeline)};
  explained.why.left_out.push_back(
      shared_fabric_text(as_it_is.measured, as_it_is.simulation.timeline.iteration_ms, explained.why.iteration_ms));
  const Resimulate simulate = [&simulated](const ChangedCase& changed) {
    return Resimulated{simulated(changed).simulation.timeline.iteration_ms, std::nullopt};
  };
  if (with_help) explained.help = help_where_possible(in_place[own], explained.why, simulate);
  return explained;
}

ExplainedCase explained_in(const Scenario& scenario, const Fabric& fabric, const Case& item, bool with_help,
                           const PlanWatch& watch) {
  std::vector<PreparedCase> jobs;
  jobs.reserve(fabric.jobs.size());
  JobGroup group{fabric.name, {}};
  std::size_t own = 0;
  for (const std::size_t job : fabric.jobs) {
    if (&scenario.cases[job] == &item) own = jobs.size();
    jobs.push_back(ready_case(scenario, scenario.cases[job], watch));
    group.jobs.push_back(&jobs.back());
  }
  check_lengths(group);
  return explained_job(jobs, own, with_help);
}

}  // namespace

ExplainedCase explained_case(const Scenario& scenario, const Case& item, bool with_help, const PlanWatch& watch) {
  for (const Fabric& fabric : scenario.fabrics) {
    const auto is_item = [&](std::size_t job) { return &scenario.cases[job] == &item; };
    if (std::ranges::any_of(fabric.jobs, is_item)) return explained_in(scenario, fabric, item, with_help, watch);
  }
  const PreparedCase prepared = ready_case(scenario, item, watch);
  const bool drawn = item.load.drawn();
  return done_in_case(
      item, [&] { return drawn ? explained_drawn(prepared, with_help) : explained_plain(prepared, with_help); });
}

}  // namespace shardsim
