#include "plan/search/start_plans.h"

#include <utility>

#include "base/error.h"
#include "base/tree/tree_editor.h"
#include "plan/check.h"

namespace shardsim::search {
namespace {

Tree with_options(const std::string& name, const std::vector<std::pair<std::string, std::string>>& options) {
  Tree tree = named_map(name);
  for (const auto& [key, value] : options) set_path(tree, key, text_tree(value, {}));
  return tree;
}

}  // namespace

std::vector<StartPlanner> start_planners() {
  std::vector<StartPlanner> starts;
  for (const PlannerEntry& planner : planners()) {
    const std::string name(planner.name);
    if (name != "search" && name != "per_table") starts.push_back({name, named_map(name)});
    if (name == "torchrec") starts.push_back({name + "_2025", with_options(name, {{"version", "2025-10"}})});
    if (!name.starts_with("flexshard_")) continue;
    starts.push_back({name + "_simulated", with_options(name, {{"bandwidths", "simulated"}})});
    starts.push_back({name + "_row_wise", with_options(name, {{"bandwidths", "simulated"}, {"pooled", "row_wise"}})});
    starts.push_back({name + "_8gib", with_options(name, {{"bandwidths", "simulated"}, {"memory_budget", "8 GiB"}})});
  }
  return starts;
}

std::optional<Plan> StartPlans::plan_of(const StartPlanner& start, const Workload& workload, const Cluster& cluster,
                                        const PlannerContext& context, const TableChoices& choices) {
  if (const auto known = plans_.find(start.name); known != plans_.end() && choices.allows(known->second))
    return known->second;
  const UnheardHost unheard(context.host);
  const PlannerContext quiet{context.memory, context.seed, unheard, context.constraints};
  try {
    Plan plan = make_planner(start.options)->plan(workload, cluster, quiet);
    check_plan(plan, workload, cluster, start.options.place);
    if (!choices.allows(plan)) return std::nullopt;
    plans_.insert_or_assign(start.name, plan);
    return plan;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace shardsim::search
