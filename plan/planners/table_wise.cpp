#include "plan/planners/factories.h"
#include "plan/planners/least_loaded.h"
#include "plan/planners/whole_table.h"

namespace shardsim {
namespace {

class TableWise : public Planner {
 public:
  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    const std::vector<int> owner = least_loaded(workload, cluster.world_size());
    Plan plan;
    plan.hash_seed = context.seed;
    for (std::size_t t = 0; t < owner.size(); ++t) {
      plan.placements.push_back(whole_table(workload, t, Strategy::table_wise, {{owner[t]}}));
    }
    return plan;
  }
};

}  // namespace

std::unique_ptr<Planner> make_table_wise(MapReader& /*options*/) {
  return std::make_unique<TableWise>();
}

}  // namespace shardsim
