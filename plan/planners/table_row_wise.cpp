#include "plan/planners/factories.h"
#include "plan/planners/least_loaded.h"
#include "plan/planners/whole_table.h"

namespace shardsim {
namespace {

class TableRowWise : public Planner {
 public:
  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    const std::vector<int> node = least_loaded(workload, cluster.nodes());
    const std::vector<std::vector<int>> ranks = node_groups(cluster);
    Plan plan;
    plan.hash_seed = context.seed;
    for (std::size_t t = 0; t < node.size(); ++t) {
      const std::vector<int>& holders = ranks[static_cast<std::size_t>(node[t])];
      plan.placements.push_back(whole_table(workload, t, Strategy::table_row_wise, {holders}));
    }
    return plan;
  }
};

}  // namespace

std::unique_ptr<Planner> make_table_row_wise(MapReader& /*options*/) {
  return std::make_unique<TableRowWise>();
}

}  // namespace shardsim
