#include "plan/unsharded_tables.h"

#include <algorithm>
#include <tuple>

#include "plan/planners/plan_parts.h"

namespace shardsim {
namespace {

class Replicated final : public Planner {
 public:
  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    Plan plan;
    plan.hash_seed = context.seed;
    add_unsharded(plan, workload, cluster.world_size());
    return plan;
  }
};

}  // namespace

bool has_unsharded(const Workload& workload) {
  return std::ranges::any_of(workload.tables, [](const Table& table) { return !table.sharded; });
}

void add_unsharded(Plan& plan, const Workload& workload, int world_size) {
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    const Table& table = workload.tables[index];
    if (table.sharded) continue;
    plan.placements.push_back(
        whole_table(static_cast<int>(index), table, Strategy::data_parallel, {all_ranks(world_size)}));
  }
  std::ranges::stable_sort(plan.placements, {}, [](const Placement& placement) {
    return std::tuple(placement.table, placement.row_begin, placement.column_begin);
  });
}

Plan plan_with_unsharded(const Planner& planner, const std::string& name, const Workload& workload,
                         const Cluster& cluster, const PlannerContext& context) {
  if (!has_unsharded(workload)) return planner.plan(workload, cluster, context);
  const Replicated replicated;
  PlanPart sharded{"tables that are sharded (" + name + ")", name, &planner, {}};
  PlanPart unsharded{"tables that are not sharded", "unsharded", &replicated, {}};
  for (std::size_t index = 0; index < workload.tables.size(); ++index)
    (workload.tables[index].sharded ? sharded : unsharded).tables.push_back(static_cast<int>(index));
  std::vector<PlanPart> parts{unsharded};
  if (!sharded.tables.empty()) parts.push_back(sharded);
  return plan_in_parts(parts, workload, cluster, context);
}

}  // namespace shardsim
