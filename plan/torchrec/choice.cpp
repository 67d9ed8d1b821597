#include "plan/torchrec/choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/torchrec/infeasible.h"
#include "plan/torchrec/placements.h"

namespace shardsim::torchrec {
namespace {

RunResult run_or_throw(const PlannerRequest& request) {
  try {
    RunResult run = run_planner(request.tables, request.settings);
    if (!run.found) throw infeasible(run, request.settings);
    return run;
  } catch (const PlannerError& error) {
    throw as_input_error(error);
  }
}

std::size_t disagreements(const std::vector<JudgedPlan>& judged) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < judged.size(); ++i) {
    for (std::size_t j = i + 1; j < judged.size(); ++j) {
      count += judged[j].simulated->value < judged[i].simulated->value ? 1 : 0;
    }
  }
  return count;
}

void tell(const std::vector<JudgedPlan>& judged, std::size_t chosen, const PlannerContext& context) {
  if (!context.note) return;
  const auto text = [](const JudgedPlan& plan) {
    return fmt::format("{:.3f} ms estimated, {:.3f} ms simulated", plan.estimated_ms, plan.simulated->ms());
  };
  context.note(fmt::format("estimate's first choice: {}", text(judged.front())));
  context.note(chosen == 0 ? "the simulation chooses the same plan"
                           : fmt::format("simulation's choice, number {} of the estimate: {}", chosen + 1,
                                         text(judged[chosen])));
  const std::size_t pairs = judged.size() * (judged.size() - 1) / 2;
  context.note(fmt::format("{} candidates: the two order {} of {} pairs differently", judged.size(),
                           disagreements(judged), pairs));
}

void judge(Choice& choice, const PlannerContext& context) {
  for (const Candidate& candidate : choice.run.candidates) {
    JudgedPlan judged;
    judged.plan = plan_of(candidate.plan, candidate.assignment, choice.run.space, choice.request.order, context.seed);
    judged.estimated_ms = candidate.rating;
    judged.simulated = context.simulate(judged.plan);
    choice.judged.push_back(std::move(judged));
  }
  const auto fastest = std::min_element(
      choice.judged.begin(), choice.judged.end(),
      [](const JudgedPlan& a, const JudgedPlan& b) { return a.simulated->value < b.simulated->value; });
  const auto chosen = static_cast<std::size_t>(fastest - choice.judged.begin());
  tell(choice.judged, chosen, context);
  const Candidate& best = choice.run.candidates[chosen];
  choice.run.plan = best.plan;
  choice.run.assignment = best.assignment;
  choice.run.rating = best.rating;
}

}  // namespace

Error as_input_error(const PlannerError& error) {
  return input_error({"planner torchrec"}, error.what(), "Change the planner's constraints, or the workload");
}

Choice choose_plan(const PlannerOptions& options, const Workload& workload, const Cluster& cluster,
                   const PlannerContext& context) {
  if (options.simulated && !context.simulate) {
    throw input_error({"planner torchrec"}, "objective simulated needs a simulator, which this command does not bring",
                      "Use objective: estimated here, or 'shardsim plan'");
  }
  Choice choice;
  choice.request = planner_request(options, workload, cluster);
  if (options.simulated) choice.request.settings.candidates = options.candidates;
  choice.run = run_or_throw(choice.request);
  if (options.simulated && !choice.run.candidates.empty()) judge(choice, context);
  choice.plan = plan_of(choice.run.plan, choice.run.assignment, choice.run.space, choice.request.order, context.seed);
  return choice;
}

}  // namespace shardsim::torchrec
