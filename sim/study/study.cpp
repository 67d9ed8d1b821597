#include "sim/study/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/version.h"
#include "plan/check.h"
#include "plan/plan_file.h"
#include "plan/planner.h"
#include "sim/lower/lower.h"
#include "sim/study/case_notes.h"
#include "sim/study/comparison.h"
#include "sim/study/job_study.h"
#include "sim/study/packed_result.h"
#include "sim/study/planner_bandwidths.h"
#include "sim/study/removed_effects.h"

namespace shardsim {
namespace {

constexpr std::uint64_t kParetoTicks = 1000;  // the paper marks every 0.1 % of the rows

std::vector<int> ranks_of(const Placement& placement) {
  std::vector<int> ranks;
  for (const std::vector<int>& holders : placement.holders) ranks.insert(ranks.end(), holders.begin(), holders.end());
  return ranks;
}

std::vector<PlacementSummary> summarise(const Plan& plan, const Workload& workload) {
  std::vector<PlacementSummary> summaries;
  for (const Placement& placement : plan.placements) {
    const Table& table = workload.tables[placement.table];
    const AccessDistribution access = table.distribution();
    PlacementSummary summary;
    summary.table = table.name;
    summary.strategy = placement.strategy;
    summary.rows = placement.rows();
    summary.access_share = access.sum(placement.row_begin, placement.row_end) / access.total();
    summary.ranks = ranks_of(placement);
    summaries.push_back(summary);
  }
  return summaries;
}

ParetoPoint pareto_point(const CostParameters& cost, const AccessDistribution& access, double row_bytes,
                         std::uint64_t rows) {
  return {rows, dp_memory_delta(cost, access, row_bytes, rows), dp_time_delta(cost, access, row_bytes, rows)};
}

std::vector<ParetoFigure> pareto_figures(const Case& item, const Cluster& cluster) {
  const auto memory = make_memory_model(item.memory_model);
  CostParameters cost;
  cost.batch = static_cast<double>(item.workload.batch_per_gpu);
  cost.world = cluster.world_size();
  cost.per_node = cluster.ranks_per_node();
  cost.static_multiplier = memory->dp_static_multiplier();
  cost.mp_copies = memory->mp_dynamic_copies();
  cost.dp_copies = memory->dp_dynamic_copies();
  std::vector<ParetoFigure> figures;
  for (const Table& table : item.workload.tables) {
    if (table.kind != TableKind::sequence) continue;
    const AccessDistribution access = table.distribution();
    const auto row_bytes = static_cast<double>(table.row_bytes());
    const NamedPoints points = named_points(cost, access);
    const auto at = [&](std::uint64_t rows) { return pareto_point(cost, access, row_bytes, rows); };
    // Whole ticks, the first of them past the end of the Pareto range.
    const std::uint64_t tick = std::max<std::uint64_t>(table.rows / kParetoTicks, 1);
    const std::uint64_t ticks = std::min(std::max(points.a, points.c) / tick + 1, table.rows / tick);
    figures.push_back({table.name, table.rows,
                       pareto_curve(cost, access, row_bytes, ticks * tick, static_cast<int>(ticks)), at(points.a),
                       at(points.b), at(points.c), at(points.d)});
  }
  return figures;
}

CaseResult describe(const PreparedCase& prepared, const Scenario& scenario) {
  const Case& item = prepared.item;
  CaseResult result;
  result.name = item.name;
  result.workload = item.workload.name;
  result.cluster = item.cluster.name;
  result.planner = item.plan_file.empty() ? prepared.item.planner.find("name")->scalar : item.plan_file;
  result.relative_to = item.relative_to;
  result.world_size = prepared.cluster.world_size();
  result.batch_per_gpu = item.workload.batch_per_gpu;
  const auto memory = make_memory_model(item.memory_model);
  result.memory_per_rank = memory_per_rank(prepared.plan, item.workload, prepared.cluster, *memory);
  result.memory_capacity = prepared.cluster.memory_per_rank().count;
  result.placements = summarise(prepared.plan, item.workload);
  result.estimate_iteration_ms =
      simulate_case(prepared, scenario, named_map("closed_form"), false).timeline.iteration_ms;
  if (scenario.cross_check && !item.job) {
    result.torchrec = {torchrec::estimate_iteration(prepared.plan, item.workload,
                                                    scenario.cross_check->request(item.workload, prepared.cluster)),
                       remove_effects(prepared, scenario, result.estimate_iteration_ms)};
  }
  return result;
}

void add_simulation(CaseResult& result, SimulationResult simulated) {
  result.timeline = std::move(simulated.timeline);
  result.timeline.hbm_bytes = result.memory_per_rank;
  result.limit = simulated.busiest;
  result.iteration_ms = result.timeline.iteration_ms;
  result.samples_per_s =
      static_cast<double>(result.world_size) * static_cast<double>(result.batch_per_gpu) / (result.iteration_ms * 1e-3);
  result.times = named_times(result.timeline);
}

// The high-water mark of the simulated iteration, beside the memory model's figures on the fullest rank.
void add_memory(CaseResult& result, const PreparedCase& prepared, const Scenario& scenario) {
  const Case& item = prepared.item;
  const Program program = make_program(item, prepared.cluster, prepared.plan, scenario, false);
  result.memory_profile = memory_profile(program, result.timeline, prepared.plan, item.workload);
  result.estimated_memory = memory_on_rank(prepared.plan, static_cast<int>(result.memory_profile.fullest()),
                                           item.workload, prepared.cluster, *make_memory_model(item.memory_model));
}

bool needs_observed(const Case& item) {
  return item.payload_both && item.workload.has_runtime() &&
         std::any_of(item.published.begin(), item.published.end(),
                     [](const Published& published) { return published.at_observed_payload; });
}

void collect_fitted(StudyResult& study, const Scenario& scenario) {
  std::set<std::pair<std::string, std::string>> known;
  const auto collect = [&](const std::string& owner, const std::vector<SourcedValue>& sources) {
    for (SourcedValue source : sources) {
      if (!source.fitted || !known.emplace(owner, source.path).second) continue;
      source.path = owner + ": " + source.path;
      study.fitted.push_back(source);
    }
  };
  for (const Case& item : scenario.cases) {
    collect(item.cluster.name, item.cluster.sources);
    collect(item.workload.name, item.workload.sources);
  }
}

std::vector<PreparedCase> prepare(const Scenario& scenario, const PlanWatch& watch) {
  std::vector<PreparedCase> prepared;
  for (const Case& item : scenario.cases) {
    Cluster cluster = cluster_of(item);
    throw_if_interrupted(watch.interrupted);
    Plan plan = make_plan(item, cluster, scenario.seed, watch);
    prepared.push_back({item, std::move(cluster), std::move(plan)});
  }
  for (const JobGroup& group : job_groups(prepared)) check_lengths(group, scenario);
  return prepared;
}

// The Figures 3 and 5 of a workload are drawn once, with the first case that uses it.
void add_pareto(StudyResult& study, const std::vector<PreparedCase>& prepared) {
  std::set<std::string> drawn;
  for (std::size_t index = 0; index < prepared.size(); ++index) {
    if (!drawn.insert(prepared[index].item.workload.name).second) continue;
    study.cases[index].pareto = pareto_figures(prepared[index].item, prepared[index].cluster);
  }
}

// One task per case, in order; a job has the fabric for itself there. Behind them one per group of jobs.
std::vector<WorkerTask> tasks_of(const std::vector<PreparedCase>& prepared, const std::vector<JobGroup>& groups,
                                 const Scenario& scenario) {
  std::vector<WorkerTask> tasks;
  for (const PreparedCase& each : prepared) {
    const std::string& name = each.item.name;
    if (each.item.job) {
      tasks.push_back({name, [&] { return pack_jobs(simulate_group({&each}, scenario)); }});
      continue;
    }
    tasks.push_back({name, [&] { return pack(simulate_case(each, scenario, each.item.network, false)); }});
    if (!needs_observed(each.item)) continue;
    tasks.push_back({name, [&] { return pack(simulate_case(each, scenario, each.item.network, true)); }});
  }
  for (const JobGroup& group : groups) {
    tasks.push_back({group.front()->item.job->fabric, [&] { return pack_jobs(simulate_group(group, scenario)); }});
  }
  return tasks;
}

void add_job(CaseResult& result, const Case& item, double alone_ms) {
  JobFigures figures;
  figures.fabric = item.job->fabric;
  figures.nodes = item.job->nodes;
  figures.start_ms = item.job->start.ms();
  figures.alone_ms = alone_ms;
  result.job = figures;
}

// What the jobs of a group did beside each other.
void add_group(StudyResult& study, const std::vector<PreparedCase>& prepared, const JobGroup& group,
               std::vector<JobSimulation> simulated) {
  for (std::size_t job = 0; job < group.size(); ++job) {
    CaseResult& result = study.cases[group[job] - prepared.data()];
    add_simulation(result, std::move(simulated[job].simulation));
    result.job->measured = simulated[job].measured;
    result.job->shortest_ms = simulated[job].shortest_ms;
    result.job->longest_ms = simulated[job].longest_ms;
  }
}

// In a process of its own, for SimGrid allows one engine in each.
Seconds simulated_iteration(const PreparedCase& prepared, std::uint64_t seed,
                            const std::function<bool()>& interrupted) {
  Scenario scenario;  // its seed is all that a Program takes of it
  scenario.seed = seed;
  const auto simulated = [&] {
    return shortest(simulate_case(prepared, scenario, prepared.item.network, false).timeline.iteration_ms);
  };
  return {std::stod(run_in_workers({{prepared.item.name, simulated}}, {1, {}, interrupted}).front()) * 1e-3};
}

Plan plan_and_check(const Case& item, const Cluster& cluster, std::uint64_t seed, const PlanWatch& watch) {
  Plan plan = unchecked_plan(item, cluster, seed, watch);
  if (item.plan_file.empty()) check_plan(plan, item.workload, cluster, item.place);
  check_memory(plan, item.workload, cluster, *make_memory_model(item.memory_model));
  return plan;
}

}  // namespace

Cluster cluster_of(const Case& item) {
  Cluster cluster(item.cluster);
  return item.job ? cluster.part(item.job->nodes) : cluster;
}

void check_job_groups(const Scenario& scenario, const PlanWatch& watch) {
  prepare(scenario, watch);
}

Error in_case(const Case& item, const Error& error) {
  if (!error.place().source.empty()) return error;
  const bool in_file = !item.plan_file.empty() && error.failure() == Failure::input;
  return {error.failure(), in_file ? Place{item.plan_file} : item.place, "case '" + item.name + "': " + error.what(),
          ""};
}

Plan unchecked_plan(const Case& item, const Cluster& cluster, std::uint64_t seed, const PlanWatch& watch) {
  if (!item.plan_file.empty()) return read_plan_file(item.plan_file, item.workload, cluster);
  const auto memory = make_memory_model(item.memory_model);
  const PlannerContext context{*memory,
                               seed,
                               [&] { return simulated_bandwidths(item.workload, cluster); },
                               [&](const Plan& plan) {
                                 return simulated_iteration({item, cluster, plan}, seed, watch.interrupted);
                               },
                               watch.note,
                               [&] { throw_if_interrupted(watch.interrupted); }};
  return make_planner(item.planner)->plan(item.workload, cluster, context);
}

Plan make_plan(const Case& item, const Cluster& cluster, std::uint64_t seed, const PlanWatch& watch) {
  try {
    return plan_and_check(item, cluster, seed, watch);
  } catch (const Error& error) {
    throw in_case(item, error);
  }
}

Program make_program(const Case& item, const Cluster& cluster, const Plan& plan, const Scenario& scenario,
                     bool observed_payload) {
  Program program = lower(plan, item.workload, cluster, {observed_payload, item.overlap});
  program.scenario = scenario.path;
  program.case_name = item.name;
  program.seed = scenario.seed;
  return program;
}

StudyResult run_study(const Scenario& scenario, const WorkerOptions& options) {
  StudyResult study;
  study.scenario = scenario.path;
  study.scenario_text = scenario.text;
  study.title = scenario.title;
  study.seed = scenario.seed;
  study.version = version();
  collect_fitted(study, scenario);

  const std::vector<PreparedCase> prepared = prepare(scenario, {options.interrupted, {}});
  const std::vector<JobGroup> groups = job_groups(prepared);
  const std::vector<std::string> results = run_in_workers(tasks_of(prepared, groups, scenario), options);
  auto next = results.begin();
  for (const PreparedCase& each : prepared) {
    study.cases.push_back(describe(each, scenario));
    CaseResult& result = study.cases.back();
    if (each.item.job) {
      add_job(result, each.item, unpack_jobs(*next++)[0].simulation.timeline.iteration_ms);
      continue;
    }
    add_simulation(result, unpack(*next++));
    if (!needs_observed(each.item)) continue;
    result.observed_payload_timeline = unpack(*next++).timeline;
    result.iteration_ms_at_observed_payload = result.observed_payload_timeline->iteration_ms;
  }
  for (const JobGroup& group : groups) add_group(study, prepared, group, unpack_jobs(*next++));
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    add_memory(study.cases[i], prepared[i], scenario);
    study.cases[i].notes = case_notes(study.cases[i], prepared[i].item, prepared[i].plan);
  }
  add_pareto(study, prepared);
  compare_with_published(study, scenario);
  if (scenario.cross_check) study.cross_checks = cross_checks(study, scenario.cross_check->worst);
  return study;
}

}  // namespace shardsim
