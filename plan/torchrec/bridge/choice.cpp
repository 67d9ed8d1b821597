#include "plan/torchrec/bridge/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "plan/torchrec/bridge/given_plan.h"

namespace shardsim::torchrec {
namespace {

Error refused(const RunResult& run) {
  return input_error(
      {},
      fmt::format("planner torchrec: version {} refuses the plan that it found: {}", name_of(PlannerVersion::v2026_08),
                  first_names(run.violations, 3)),
      fmt::format("Change the planner's constraints, or state version: \"{}\", which does not check this",
                  name_of(PlannerVersion::v2025_10)));
}

RunResult run_or_throw(const PlannerRequest& request) {
  try {
    RunResult run = run_planner(request.tables, request.settings);
    if (!run.found) throw infeasible(run, request.settings);
    if (!run.violations.empty()) throw refused(run);
    return run;
  } catch (const PlannerError& error) {
    throw as_input_error(error);
  }
}

// A candidate of a run, with what the simulation says of it.
struct JudgedPlan {
  Candidate candidate;
  Plan plan;
  Seconds simulated;
};

std::size_t disagreements(const std::vector<JudgedPlan>& judged) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < judged.size(); ++i) {
    for (std::size_t j = i + 1; j < judged.size(); ++j) {
      count += judged[j].simulated < judged[i].simulated ? 1 : 0;
    }
  }
  return count;
}

// "t1 (row_wise, not table_wise) and 3 others": tables that two candidates shard differently.
std::string changes(const Candidate& to, const Candidate& from, const SearchSpace& space) {
  std::map<int, const ShardingOption*> before;
  for (const ShardingOption& option : from.plan) before[option.table] = &option;
  std::vector<std::string> texts;
  for (const ShardingOption& option : to.plan) {
    const ShardingOption& other = *before.at(option.table);
    if (option.type == other.type && option.kernel == other.kernel && option.shards == other.shards) continue;
    const auto text = [](const ShardingOption& o) { return fmt::format("{} {}", name_of(o.type), name_of(o.kernel)); };
    const std::string now = text(option), then = text(other);
    texts.push_back(space.table_of(option).name +
                    (now == then ? fmt::format(" ({} shards, not {})", option.shards, other.shards)
                                 : fmt::format(" ({}, not {})", now, then)));
  }
  constexpr std::size_t kShown = 3;
  const std::size_t more = texts.size() > kShown ? texts.size() - kShown : 0;
  texts.resize(texts.size() - more);
  return join(texts) + (more > 0 ? fmt::format(" and {} others", more) : "");
}

void tell(const std::vector<JudgedPlan>& judged, std::size_t chosen, const SearchSpace& space,
          const PlannerContext& context) {
  const auto text = [](const JudgedPlan& plan) {
    return fmt::format("{:.3f} ms estimated, {:.3f} ms simulated", plan.candidate.rating, plan.simulated.ms());
  };
  context.host.say(fmt::format("estimate's first choice: {}", text(judged.front())));
  if (chosen == 0) {
    context.host.say("the simulation chooses the same plan");
  } else {
    context.host.say(
        fmt::format("simulation's choice, number {} of the estimate: {}", chosen + 1, text(judged[chosen])));
    context.host.say("it differs in " + changes(judged[chosen].candidate, judged.front().candidate, space));
  }
  const std::size_t pairs = judged.size() * (judged.size() - 1) / 2;
  context.host.say(fmt::format("{} candidates: the two order {} of {} pairs differently", judged.size(),
                               disagreements(judged), pairs));
}

// Simulates the candidates. One that cannot be simulated (a kernel that only estimates know) is left out.
std::vector<JudgedPlan> simulate_candidates(const Choice& choice, const PlannerContext& context) {
  std::vector<JudgedPlan> judged;
  std::optional<Error> refused;
  for (const Candidate& candidate : choice.run.candidates) {
    Plan plan = plan_of(candidate.plan, candidate.assignment, choice.run.space, choice.request.order, context.seed);
    try {
      const Seconds simulated = context.host.simulated(plan);
      judged.push_back({candidate, std::move(plan), simulated});
    } catch (const Error& error) {
      if (error.failure() != Failure::input) throw;
      refused = error;
    }
  }
  if (judged.empty()) throw *refused;
  if (refused)
    context.host.say(fmt::format("{} candidates cannot be simulated and are left out, the last one because: {}",
                                 choice.run.candidates.size() - judged.size(), refused->what()));
  return judged;
}

// No workload says what TorchRec's offload statistics say of a table's accesses.
void tell_of_scaleup(const std::vector<ProposerKind>& proposers, const PlannerContext& context) {
  if (std::ranges::find(proposers, ProposerKind::embedding_offload_scaleup) == proposers.end()) return;
  context.host.say(
      "embedding_offload_scaleup makes only its first proposal: no table states how often its cached rows are missed");
}

// TorchRec takes any number of hosts for a group; a plan of ours keeps a group inside a node.
void tell_of_pods(const Topology& topology, const Cluster& cluster, const PlannerContext& context) {
  if (topology.group_size() <= cluster.ranks_per_node()) return;
  context.host.say(fmt::format(
      "pod_size makes groups of {} ranks, and nodes of this cluster have {}: a table that is cut by rows over a group "
      "has no place in a plan here; state nvlink.domain of the cluster, too",
      topology.group_size(), cluster.ranks_per_node()));
}

void tell_of_output_types(const PlannerOptions& options, const Workload& workload, const PlannerContext& context) {
  const std::string note = output_types_note(options, workload);
  if (!note.empty()) context.host.say(note);
}

void judge(Choice& choice, const PlannerContext& context) {
  std::vector<JudgedPlan> judged = simulate_candidates(choice, context);
  const auto fastest = std::ranges::min_element(judged, {}, &JudgedPlan::simulated);
  tell(judged, static_cast<std::size_t>(fastest - judged.begin()), choice.run.space, context);
  choice.run.plan = std::move(fastest->candidate.plan);
  choice.run.assignment = std::move(fastest->candidate.assignment);
  choice.run.rating = fastest->candidate.rating;
}

}  // namespace

Error as_input_error(const PlannerError& error) {
  return input_error({}, std::string("planner torchrec: ") + error.what(),
                     "Change the planner's constraints, or the workload");
}

Choice choose_plan(const PlannerOptions& given, const Workload& workload, const Cluster& cluster,
                   const PlannerContext& context) {
  const PlannerOptions options = with_constraints(given, context.constraints, workload);
  if (options.simulated && !context.host.answers(PlannerHost::Question::simulation)) {
    throw input_error({},
                      "planner torchrec: the objective simulated needs a simulator, which this command does not have",
                      "Use objective: estimated here, or 'shardsim plan'");
  }
  Choice choice;
  choice.request = planner_request(options, workload, cluster);
  if (options.simulated) choice.request.settings.candidates = options.candidates;
  choice.request.settings.check_stop = [&host = context.host] { host.stop_if_asked(); };
  tell_of_scaleup(choice.request.settings.proposers, context);
  tell_of_output_types(options, workload, context);
  tell_of_pods(choice.request.settings.topology, cluster, context);
  choice.run = run_or_throw(choice.request);
  if (choice.run.timed_out)
    context.host.say(fmt::format("the timeout ended the search after {} proposals: another run may find another plan",
                                 choice.run.num_proposals));
  if (options.simulated && !choice.run.candidates.empty()) judge(choice, context);
  context.host.state("cost_ms", choice.run.rating);
  choice.plan = plan_of(choice.run.plan, choice.run.assignment, choice.run.space, choice.request.order, context.seed);
  return choice;
}

}  // namespace shardsim::torchrec
