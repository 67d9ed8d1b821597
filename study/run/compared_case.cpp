#include "study/run/compared_case.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>

#include "models/compute/compute_model.h"
#include "models/compute/learned_model.h"
#include "plan/check.h"
#include "plan/memory_model.h"
#include "plan/memory_need.h"
#include "plan/planner.h"
#include "plan/torchrec_types.h"
#include "study/planning/lower_bound.h"
#include "study/run/case_result.h"

namespace shardsim {
namespace {

// Returns the processor time of this process and of its children that have ended.
double cpu_seconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    ::getrusage(who, &used);
    for (const timeval& part : {used.ru_utime, used.ru_stime}) {
      seconds += static_cast<double>(part.tv_sec) + 1e-6 * static_cast<double>(part.tv_usec);
    }
  }
  return seconds;
}

std::optional<std::int64_t> bytes_over(const Plan& plan, const Case& item, const Cluster& cluster) {
  const auto memory = make_memory_model(item.memory_model);
  const std::vector<std::int64_t> bytes = memory_per_rank(plan, item.workload, cluster, *memory);
  const std::int64_t over = bytes_over(MemoryNeed{std::ranges::max(bytes)}, cluster.memory_per_rank().count);
  return over > 0 ? std::optional(over) : std::nullopt;
}

// One planner at work: what it says goes into the outcome, its notes into a list.
class Attempt {
 public:
  Attempt(const Scenario& scenario, const Case& item, const Cluster& cluster, PlannerOutcome& outcome)
      : scenario_(scenario), item_(item), cluster_(cluster), outcome_(outcome) {}

  std::vector<std::string> notes;

  // The plan, checked, within memory.
  Plan plan() {
    const double begin = cpu_seconds();
    const auto count_time = [&] { outcome_.planning_cpu_s = std::round(1e6 * (cpu_seconds() - begin)) / 1e6; };
    try {
      Plan made = unchecked_plan(item_, cluster_, scenario_.seed, watch());
      count_time();
      check_made_plan(made, item_, cluster_);
      outcome_.host_rows = std::ranges::any_of(made.placements, on_host);
      const Workload& workload = item_.workload;
      if (!workload.hugectr_pipeline() && !workload.hugectr_rows())
        outcome_.beyond_torchrec = beyond_torchrec(made, workload, row_ranks(workload, item_.cluster));
      made = plan_of_world(std::move(made), item_, cluster_);
      outcome_.bytes_over = bytes_over(made, item_, cluster_);
      check_memory(made, item_.workload, cluster_, *make_memory_model(item_.memory_model));
      return made;
    } catch (const Error&) {
      if (outcome_.planning_cpu_s == 0) count_time();
      throw;
    }
  }

 private:
  PlanWatch watch() {
    PlanWatch watch;
    watch.note = [this](const std::string& line) { notes.push_back(line); };
    watch.figure = [this](const std::string& name, double value) {
      if (std::isfinite(value)) outcome_.figures.values[name] = value;
    };
    watch.trained_on = [this](const std::string& provider) { outcome_.figures.trained_on = provider; };
    return watch;
  }

  const Scenario& scenario_;
  const Case& item_;
  const Cluster& cluster_;
  PlannerOutcome& outcome_;
};

// As a planner names what its costs were learned from.
std::string judge_of(const Case& item) {
  if (is_learned(item.compute_model)) return learned_costs_of(item.compute_model)->setting().judge();
  const Tree* const file = item.compute_model.find("file");
  return compute_model_name(item.compute_model) + (file == nullptr ? "" : " " + file->scalar);
}

// True when `all` names a planner that some option has to tell what to do.
bool needs_options(const Case& item) {
  if (!item.compared->unasked) return false;
  try {
    make_planner(item.planner);
    return false;
  } catch (const Error&) {
    return true;
  }
}

// None where nothing is known, or the workload cannot be lowered, which each planner's own error says.
std::optional<double> bound_ms(const Case& item, const Cluster& cluster) {
  try {
    const double bound = lower_bound(item, cluster).value * 1e3;
    return bound > 0 ? std::optional(bound) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

void add_planner_notes(CaseResult& result, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    if (std::ranges::find(result.notes, line) == result.notes.end()) result.notes.push_back("Planner: " + line);
  }
}

PlannerOutcome planned_and_simulated(const Scenario& scenario, const Case& item, std::shared_ptr<const Cluster> cluster,
                                     bool pareto) {
  PlannerOutcome outcome;
  Attempt attempt(scenario, item, *cluster, outcome);
  try {
    Plan plan = attempt.plan();
    outcome.result = simulated_case({scenario, item, std::move(cluster), std::move(plan)}, pareto);
    add_planner_notes(*outcome.result, attempt.notes);
  } catch (const Error& error) {
    outcome.reason = error.what();
    outcome.refused = error.failure() == Failure::input;
  }
  return outcome;
}

std::vector<PlannerComparison> begun_comparisons(const Scenario& scenario,
                                                 const std::function<const Cluster&(std::size_t)>& cluster_of) {
  std::vector<PlannerComparison> comparisons;
  for (std::size_t index = 0; index < scenario.cases.size(); ++index) {
    const Case& item = scenario.cases[index];
    if (!item.compared) continue;
    if (comparisons.empty() || comparisons.back().name != item.compared->group) {
      PlannerComparison& begun = comparisons.emplace_back();
      begun.name = item.compared->group;
      begun.also = item.compared->also;
      begun.workload = item.workload.name;
      begun.cluster = item.cluster.name;
      begun.world_size = item.cluster.nodes * item.cluster.gpu.count;
      begun.judged_by = judge_of(item);
      begun.network = item.network.find("name")->scalar;
      begun.lower_bound_ms = bound_ms(item, cluster_of(index));
      if (begun.lower_bound_ms) begun.lower_bound_lacks = lower_bound_lacks(item);
    }
    ComparedPlan& plan = comparisons.back().planners.emplace_back();
    plan.name = item.name;
    plan.planner = item.compared->label;
    plan.needs_options = needs_options(item);
  }
  return comparisons;
}

}  // namespace shardsim
