#include <fmt/format.h>

#include "base/error.h"
#include "base/tree/tree_editor.h"
#include "base/tree/yaml.h"
#include "study/notes/notes.h"

namespace shardsim {
namespace {

constexpr int kMostPlannedRanks = 64;
constexpr std::size_t kMostPlannedTables = 64;
constexpr double kTellingPlan = 0.01;  // of an iteration

// Another question to the planner, and how a reader asks it.
struct OtherPlan {
  std::string how, remedy;
  Case item;
  bool harder = false;  // more to do, or slower hardware: its iteration has to take longer than that of the case
};

bool is_planned_by_flexshard(const Case& item) {
  const Tree* const name = item.planner.find("name");
  return item.plan_file.empty() && name != nullptr && name->scalar.starts_with("flexshard");
}

OtherPlan with_bandwidths(const Case& item) {
  const Tree* const stated = item.planner.find("bandwidths");
  const bool simulated = stated != nullptr && stated->scalar == "simulated";
  const std::string other = simulated ? "constants" : "simulated";
  OtherPlan plan{fmt::format("with 'bandwidths: {}'", other), "", item};
  plan.remedy = fmt::format("Write 'bandwidths: {}' in the planner", other);
  set_path(plan.item.planner, "bandwidths", parse_yaml_value(other, {"planner"}));
  return plan;
}

OtherPlan with_twice_the_batch(const Case& item) {
  OtherPlan plan{"for twice the batch", "", item, true};
  plan.item.workload.batch_per_gpu *= 2;
  plan.remedy = fmt::format(
      "'shardsim plan --set workload.batch_per_gpu={}' makes that plan, and 'plan: {{file: FILE}}' takes it",
      plan.item.workload.batch_per_gpu);
  return plan;
}

OtherPlan with_slower_nics(const Case& item) {
  OtherPlan plan{"for NICs of half the rate", "", item, true};
  plan.item.cluster.nics->rate = 0.5 * plan.item.cluster.nics->rate;
  plan.remedy = "'shardsim plan --set cluster.nics.rate=...' makes that plan, and 'plan: {file: FILE}' takes it";
  return plan;
}

// Milliseconds of an iteration of the case with that plan. Nothing where the planner has none, and where a harder case
// takes longer with it than this one, as it should: every planner by estimates leaves a few per cent.
std::optional<double> iteration_with(const OtherPlan& other, const PreparedCase& prepared, double own_ms) {
  try {
    const Cluster cluster = cluster_of(other.item);
    Plan plan = make_plan(other.item, cluster, prepared.scenario.seed, {});
    if (plan == prepared.plan) return std::nullopt;
    if (other.harder && simulated_ms({prepared.scenario, other.item, cluster, plan}) >= own_ms) return std::nullopt;
    return simulated_ms(prepared.with_plan(std::move(plan)));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

// Says of a case that a FlexShard planner planned that another plan of the same planner is faster by the case's own
// simulation. The planner weighs tiers by its estimate of the exchanges, so that with half the batch or on faster links
// it may choose a slower plan. None where none is faster, and for worlds and models so large that making more plans is
// felt.
Notes better_plan_note(const Known& known) {
  const PreparedCase& prepared = *known.prepared;
  const CaseResult& result = *known.result;
  const Case& item = prepared.item;
  const bool small =
      prepared.cluster.world_size() <= kMostPlannedRanks && item.workload.tables.size() <= kMostPlannedTables;
  if (!small || !is_planned_by_flexshard(item) || !item.published.empty() || item.job || result.drawn) return {};
  std::vector<OtherPlan> others = {with_bandwidths(item), with_twice_the_batch(item)};
  if (item.cluster.nics && item.cluster.nodes > 1) others.push_back(with_slower_nics(item));
  const OtherPlan* best = nullptr;
  double least = (1 - kTellingPlan) * result.iteration_ms;
  for (const OtherPlan& other : others) {
    const std::optional<double> ms = iteration_with(other, prepared, result.iteration_ms);
    if (!ms || *ms >= least) continue;
    least = *ms;
    best = &other;
  }
  if (best == nullptr) return {};
  return {fmt::format(
      "The planner chose a worse plan than it could: the one that it makes {} takes {:.4g} ms here, {:.2g} % less. It "
      "chooses by an estimate of the exchanges, not by this simulation. {}.",
      best->how, least, 100 * (1 - least / result.iteration_ms), best->remedy)};
}

}  // namespace shardsim
