#include "study/run/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/files.h"
#include "models/compute/compute_model.h"
#include "models/compute/gpus/gpu_constants.h"
#include "models/compute/gpus/kernel_family.h"
#include "models/compute/learned_model.h"
#include "sim/engine/network.h"
#include "study/confidence/iteration_judge.h"
#include "study/notes/slower_hardware.h"
#include "study/result/cross_check.h"
#include "study/result/result_fields.h"
#include "study/run/case_result.h"
#include "study/run/compared_case.h"
#include "study/run/published_comparison.h"

namespace shardsim {
namespace {

// The constants that the compute model gpu_kernels has of the case's GPU; null with another model, and where a table of
// the user's own is named.
const GpuConstants* kernel_constants(const Case& item, const GpuTable& shipped) {
  if (!has_kernel_constants(item.compute_model) || item.compute_model.find("file") != nullptr) return nullptr;
  const Tree* const named = item.compute_model.find("gpu");
  const GpuConstants* const found = shipped.find(named == nullptr ? item.cluster.gpu.model : named->scalar);
  return found == nullptr ? shipped.nearest(item.cluster.gpu) : found;
}

// The numbers of kernels that go table by table were all fitted on the same rows: one line tells them all.
std::optional<SourcedValue> family_constants(const Case& item) {
  if (!has_kernel_family(item.compute_model)) return std::nullopt;
  const KernelFamily family = shipped_kernel_family(kernel_family_name(item.compute_model), item.compute_model.place);
  const auto fitted = std::ranges::find(family.sources, true, &SourcedValue::fitted);
  if (fitted == family.sources.end()) return std::nullopt;
  SourcedValue all = *fitted;
  all.path = "lookup and update";
  all.value =
      fmt::format("{} numbers of {}", std::ranges::count(family.sources, true, &SourcedValue::fitted), family.gpu);
  all.source = "times of fused lookups and updates";
  return all;
}

// All parameters of the nets were fitted to the same labels, likewise.
std::optional<SourcedValue> learned_constants(const Case& item) {
  if (!is_learned(item.compute_model)) return std::nullopt;
  const std::shared_ptr<const LearnedCosts> costs = learned_costs_of(item.compute_model);
  const LearnedEvidence& evidence = costs->evidence();
  SourcedValue all;
  all.path = "lookup and update";
  all.value = "nets";
  all.source = "labels: " + text_of(costs->setting());
  all.fitted = true;
  all.fitted_on = evidence.sets;
  all.rows_used = evidence.fitted;
  if (evidence.held_back > 0)
    all.error_unused_pct = std::max(evidence.forward.median_pct, evidence.backward.median_pct);
  return all;
}

void collect_fitted(StudyResult& study, const Scenario& scenario) {
  const GpuTable gpus = shipped_gpu_table();
  std::set<std::tuple<std::string, std::string, std::string>> known;  // a case may state another value than its preset
  const auto collect = [&](const std::string& owner, const std::vector<SourcedValue>& sources) {
    for (SourcedValue source : sources) {
      if (!source.fitted || !known.emplace(owner, source.path, source.value).second) continue;
      source.path = owner + ": " + source.path;
      study.fitted.push_back(source);
    }
  };
  for (const Case& item : scenario.cases) {
    collect(item.cluster.name, item.cluster.sources);
    collect(item.workload.name, item.workload.sources);
    if (item.software) collect("software " + item.software->name, item.software->sources);
    if (const GpuConstants* const gpu = kernel_constants(item, gpus)) collect("GPU " + gpu->name, gpu->sources);
    if (const auto nets = learned_constants(item)) collect("learned costs", {*nets});
    if (const auto family = family_constants(item))
      collect("kernels " + kernel_family_name(item.compute_model), {*family});
  }
}

// A case made ready: with its plan, or where its planner is one of several, which plan in their workers, with the
// cluster of the comparison.
struct ReadyCase {
  std::optional<PreparedCase> planned;
  std::vector<std::string> notes{};  // of its planner
  std::shared_ptr<const Cluster> cluster;
};

// `cases` stays where it is: tasks and groups point into it.
struct Prepared {
  std::vector<ReadyCase> cases;  // of the scenario, in its order
  std::vector<JobGroup> groups;  // of its fabrics, in their order
};

Prepared prepare(const Scenario& scenario, const PlanWatch& watch, KeptShares* kept = nullptr) {
  Prepared prepared;
  prepared.cases.reserve(scenario.cases.size());
  std::string group_of_last;
  for (const Case& item : scenario.cases) {
    ReadyCase ready;
    const std::string group = item.compared ? item.compared->group : "";
    const bool shared = !group.empty() && group == group_of_last;
    ready.cluster = shared ? prepared.cases.back().cluster : std::make_shared<const Cluster>(cluster_of(item));
    throw_if_interrupted(watch.interrupted);
    if (group.empty()) {
      PlanWatch heard = watch;
      heard.note = [&ready](const std::string& line) { ready.notes.push_back(line); };
      Plan plan = make_plan(item, *ready.cluster, scenario.seed, heard);
      ready.planned.emplace(scenario, item, ready.cluster, std::move(plan),
                            kept == nullptr ? nullptr : kept->of(item.workload.tables));
    }
    prepared.cases.push_back(std::move(ready));
    group_of_last = group;
  }
  for (const Fabric& fabric : scenario.fabrics) {
    JobGroup group{fabric.name, {}};
    for (const std::size_t job : fabric.jobs) group.jobs.push_back(&*prepared.cases[job].planned);
    check_lengths(group);
    prepared.groups.push_back(std::move(group));
  }
  return prepared;
}

// Relative cost of a simulation, in no unit: the operations that ranks execute. A plan that is not made yet is taken to
// have one placement for each table.
double weight_of(const Case& item, const Cluster& cluster, const Plan* plan) {
  const std::size_t tables = item.workload.tables.size();
  const std::size_t placements = plan == nullptr ? tables : plan->placements.size();
  return static_cast<double>(placements + tables) * cluster.world_size() * item.iterations;
}

double weight_of(const PreparedCase& prepared) {
  return weight_of(prepared.item, prepared.cluster, &prepared.plan);
}

// True of a single case that takes some tenths of a second at most, so that nobody wants to end it. SimGrid has one
// engine in a process, and what draws batches takes longer than its weight says.
bool is_light(const Prepared& prepared) {
  constexpr double kMostWeight = 30'000;
  if (prepared.cases.size() != 1 || !prepared.groups.empty() || !prepared.cases.front().planned) return false;
  const PreparedCase& only = *prepared.cases.front().planned;
  return weight_of(only) <= kMostWeight && !only.item.job && !runs_once(only.item.network) &&
         only.item.load.batches == LoadOptions::Batches::expected;
}

// In this process, where what is found out about its tables remains. What goes wrong is told as its worker would.
void run_here(const WorkerTask& task, const WorkerOptions& options) {
  throw_if_interrupted(options.interrupted);
  std::string bytes;
  try {
    bytes = task.run();
  } catch (const Error& error) {
    throw Error(error.failure(), Place{}, error.what(), "");
  }
  task.taken(bytes);
  if (options.progress) options.progress(1, 1);
}

// The tasks of a study; each puts what its worker sends into the study's cases.
class StudyTasks {
 public:
  StudyTasks(const Scenario& scenario, const Prepared& prepared, StudyResult& study)
      : scenario_(scenario),
        prepared_(prepared),
        study_(study),
        results_(prepared.cases.size()),
        alone_ms_(prepared.cases.size()) {
    for (PlannerComparison& comparison : study.comparisons) {
      for (ComparedPlan& plan : comparison.planners) compared_[plan.name] = &plan;
    }
    std::set<std::string> drawn;  // the Figures 3 and 5 of a workload come with the first case that uses it
    for (const Case& item : scenario.cases) {
      // It is not known yet which of the compared planners has a plan.
      pareto_.push_back(item.compared || drawn.insert(item.workload.name).second);
    }
  }

  // One per case, in order; a job has the fabric for itself there. Behind them one per fabric. `here`: a light case is
  // simulated in this process.
  void run(const WorkerOptions& options, bool here) {
    std::vector<WorkerTask> tasks;
    for (std::size_t index = 0; index < prepared_.cases.size(); ++index) tasks.push_back(task_of(index));
    for (std::size_t index = 0; index < prepared_.groups.size(); ++index) tasks.push_back(fabric_task(index));
    if (here && is_light(prepared_)) {
      run_here(tasks.front(), options);
    } else {
      run_in_workers(tasks, options);
    }
    std::set<std::string> drawn;
    for (std::size_t index = 0; index < results_.size(); ++index) {
      if (!results_[index]) continue;
      if (!drawn.insert(results_[index]->workload).second) results_[index]->pareto.clear();
      if (std::optional<JobFigures>& job = results_[index]->job) job->alone_ms = alone_ms_[index];
      add_planner_notes(*results_[index], prepared_.cases[index].notes);
      study_.cases.push_back(std::move(*results_[index]));
    }
  }

 private:
  WorkerTask task_of(std::size_t index) {
    if (!prepared_.cases[index].planned) return planner_task(index);
    const PreparedCase& each = *prepared_.cases[index].planned;
    if (each.item.job) {
      return {each.item.name, [&each] { return packed(iteration_alone_ms(each)); }, weight_of(each),
              [this, index](std::string_view bytes) { alone_ms_[index] = unpacked<double>(bytes); }};
    }
    const bool pareto = pareto_[index];
    return {each.item.name, [&each, pareto] { return packed(simulated_case(each, pareto)); }, weight_of(each),
            [this, index](std::string_view bytes) { results_[index] = unpacked<CaseResult>(bytes); }};
  }

  // The task of one planner of several: what goes wrong there is its own.
  WorkerTask planner_task(std::size_t index) {
    const Case& item = scenario_.cases[index];
    const std::shared_ptr<const Cluster>& cluster = prepared_.cases[index].cluster;
    const bool pareto = pareto_[index];
    return {item.name,
            [this, &item, &cluster, pareto] { return packed(planned_and_simulated(scenario_, item, cluster, pareto)); },
            weight_of(item, *cluster, nullptr),
            [this, index](std::string_view bytes) { take_outcome(index, unpacked<PlannerOutcome>(bytes)); },
            [this, &item](const Error& error) { compared_.at(item.name)->reason = error.what(); }};
  }

  void take_outcome(std::size_t index, PlannerOutcome outcome) {
    const std::string& name = scenario_.cases[index].name;
    ComparedPlan& plan = *compared_.at(name);
    plan.bytes_over = outcome.bytes_over;
    plan.host_rows = outcome.host_rows;
    plan.beyond_torchrec = outcome.beyond_torchrec;
    plan.reason = std::move(outcome.reason);
    plan.refused = outcome.refused;
    plan.figures = std::move(outcome.figures);
    study_.planning_cpu_s[name] = outcome.planning_cpu_s;
    if (outcome.result) {
      plan.iteration_ms = outcome.result->iteration_ms;
      const std::int64_t over = bytes_over(memory_need(*outcome.result), outcome.result->memory_capacity);
      if (over > 0) plan.bytes_over = over;
    }
    results_[index] = std::move(outcome.result);
  }

  WorkerTask fabric_task(std::size_t index) {
    const JobGroup& group = prepared_.groups[index];
    const std::vector<std::size_t>& cases = scenario_.fabrics[index].jobs;
    double weight = 0;
    for (const PreparedCase* job : group.jobs) weight += 2 * weight_of(*job);  // they settle, then they are measured
    std::vector<bool> pareto;
    for (const std::size_t job : cases) pareto.push_back(pareto_[job]);
    return {group.fabric, [&group, pareto] { return packed(simulated_jobs(group, pareto)); }, weight,
            [this, &cases](std::string_view bytes) {
              std::vector<CaseResult> results = unpacked<std::vector<CaseResult>>(bytes);
              for (std::size_t job = 0; job < cases.size(); ++job) results_[cases[job]] = std::move(results.at(job));
            }};
  }

  const Scenario& scenario_;
  const Prepared& prepared_;
  StudyResult& study_;
  std::map<std::string, ComparedPlan*> compared_;  // of the study's comparisons, by case
  std::vector<std::optional<CaseResult>> results_;
  std::vector<bool> pareto_;      // by case
  std::vector<double> alone_ms_;  // of jobs, by case
};

// Jobs side by side have no published like, and no interval.
void add_intervals(StudyResult& study, const Scenario& scenario) {
  static const IterationJudge judge;  // the table of published errors is the same for all studies of a process
  std::map<std::string, const Case*> cases;
  for (const Case& item : scenario.cases) cases[item.name] = &item;
  for (CaseResult& result : study.cases) {
    if (result.job) continue;
    const Case& item = *cases.at(result.name);
    const double batches = result.drawn ? result.drawn->iteration_ms.standard_error / result.iteration_ms : 0;
    DrawnSpread spread{batches, result.placement_log_times};
    result.interval = judge.interval(item, {result.iteration_ms, result.timeline, result.path, std::move(spread)});
  }
}

// Adds the figures that need more than one case. Those without a plan are not among the study's.
void compare_cases(StudyResult& study, const Scenario& scenario) {
  for (std::size_t index = 0; index < study.cases.size(); ++index) {
    const std::string& name = study.cases[index].relative_to;
    const auto base = std::ranges::find(study.cases, name, &CaseResult::name);
    if (base != study.cases.end()) {
      compare_with_base(study.cases[index], *base);
    } else if (!name.empty()) {
      study.cases[index].notes.push_back("Not compared with case '" + name + "', which is left out.");
    }
  }
  study.choices = choices_of(study);
  withhold_chances(study, scenario);
  add_slower_hardware_notes(study, scenario);
  study.machines = machine_orders(study, scenario);
  if (scenario.cross_check) study.cross_checks = cross_checks(study, scenario.cross_check->worst);
}

}  // namespace

void check_job_groups(const Scenario& scenario, const PlanWatch& watch) {
  prepare(scenario, watch);
}

StudyResult run_study(const Scenario& scenario, const WorkerOptions& options, KeptShares* kept) {
  StudyResult study;
  study.scenario = scenario.path;
  study.scenario_text = scenario.text;
  study.title = scenario.title;
  study.seed = scenario.seed;
  study.version = version();
  collect_fitted(study, scenario);
  const Prepared prepared = prepare(scenario, {options.interrupted, {}}, kept);
  study.comparisons =
      begun_comparisons(scenario, [&](std::size_t index) -> const Cluster& { return *prepared.cases[index].cluster; });
  StudyTasks(scenario, prepared, study).run(options, kept != nullptr);
  add_intervals(study, scenario);
  compare_cases(study, scenario);
  return study;
}

}  // namespace shardsim
