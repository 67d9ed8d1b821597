#include "sim/study/study.h"

#include <algorithm>
#include <set>

#include "base/files.h"
#include "sim/study/case_result.h"
#include "sim/study/cross_check.h"
#include "sim/study/result_fields.h"

namespace shardsim {
namespace {

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

// Cases made ready. `cases` stays where it is: tasks and groups point into it.
struct Prepared {
  std::vector<PreparedCase> cases;  // of the scenario, in its order
  std::vector<JobGroup> groups;     // of its fabrics, in their order
};

Prepared prepare(const Scenario& scenario, const PlanWatch& watch) {
  Prepared prepared;
  prepared.cases.reserve(scenario.cases.size());
  for (const Case& item : scenario.cases) {
    Cluster cluster = cluster_of(item);
    throw_if_interrupted(watch.interrupted);
    Plan plan = make_plan(item, cluster, scenario.seed, watch);
    prepared.cases.emplace_back(scenario, item, std::move(cluster), std::move(plan));
  }
  for (const Fabric& fabric : scenario.fabrics) {
    JobGroup group{fabric.name, {}};
    for (const std::size_t job : fabric.jobs) group.jobs.push_back(&prepared.cases[job]);
    check_lengths(group);
    prepared.groups.push_back(std::move(group));
  }
  return prepared;
}

// What a simulation costs, roughly and in no unit: how many operations ranks execute.
double weight_of(const PreparedCase& prepared) {
  const double operations = static_cast<double>(prepared.plan.placements.size() + prepared.item.workload.tables.size());
  return operations * prepared.cluster.world_size() * prepared.item.iterations;
}

// The tasks of a study; each puts what its worker sends into the study's cases.
class StudyTasks {
 public:
  StudyTasks(const Scenario& scenario, const Prepared& prepared, StudyResult& study)
      : scenario_(scenario), prepared_(prepared), study_(study), alone_ms_(prepared.cases.size()) {
    std::set<std::string> drawn;  // the Figures 3 and 5 of a workload come with the first case that uses it
    for (const Case& item : scenario.cases) pareto_.push_back(drawn.insert(item.workload.name).second);
  }

  // One per case, in order; a job has the fabric for itself there. Behind them one per fabric.
  void run(const WorkerOptions& options) {
    study_.cases.resize(prepared_.cases.size());
    std::vector<WorkerTask> tasks;
    for (std::size_t index = 0; index < prepared_.cases.size(); ++index) tasks.push_back(task_of(index));
    for (std::size_t index = 0; index < prepared_.groups.size(); ++index) tasks.push_back(fabric_task(index));
    run_in_workers(tasks, options);
    for (std::size_t index = 0; index < alone_ms_.size(); ++index) {
      if (std::optional<JobFigures>& job = study_.cases[index].job) job->alone_ms = alone_ms_[index];
    }
  }

 private:
  WorkerTask task_of(std::size_t index) {
    const PreparedCase& each = prepared_.cases[index];
    if (each.item.job) {
      return {each.item.name, [&each] { return packed(iteration_alone_ms(each)); }, weight_of(each),
              [this, index](std::string_view bytes) { alone_ms_[index] = unpacked<double>(bytes); }};
    }
    const bool pareto = pareto_[index];
    return {each.item.name, [&each, pareto] { return packed(simulated_case(each, pareto)); }, weight_of(each),
            [this, index](std::string_view bytes) { study_.cases[index] = unpacked<CaseResult>(bytes); }};
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
              for (std::size_t job = 0; job < cases.size(); ++job)
                study_.cases[cases[job]] = std::move(results.at(job));
            }};
  }

  const Scenario& scenario_;
  const Prepared& prepared_;
  StudyResult& study_;
  std::vector<bool> pareto_;      // by case
  std::vector<double> alone_ms_;  // of jobs, by case
};

// What needs more than one case.
void compare_cases(StudyResult& study, const Scenario& scenario) {
  for (std::size_t index = 0; index < study.cases.size(); ++index) {
    const std::string& name = scenario.cases[index].relative_to;
    const auto base = std::ranges::find(study.cases, name, &CaseResult::name);
    if (base != study.cases.end()) {
      compare_throughput(study.cases[index], *base);
    } else if (!name.empty()) {
      study.cases[index].notes.push_back("Not compared with case '" + name + "', which is left out.");
    }
  }
  if (scenario.cross_check) study.cross_checks = cross_checks(study, scenario.cross_check->worst);
}

}  // namespace

void check_job_groups(const Scenario& scenario, const PlanWatch& watch) {
  prepare(scenario, watch);
}

StudyResult run_study(const Scenario& scenario, const WorkerOptions& options) {
  StudyResult study;
  study.scenario = scenario.path;
  study.scenario_text = scenario.text;
  study.title = scenario.title;
  study.seed = scenario.seed;
  study.version = version();
  collect_fitted(study, scenario);
  const Prepared prepared = prepare(scenario, {options.interrupted, {}});
  StudyTasks(scenario, prepared, study).run(options);
  compare_cases(study, scenario);
  return study;
}

}  // namespace shardsim
