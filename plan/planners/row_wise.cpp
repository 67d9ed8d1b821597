#include "plan/planners/factories.h"
#include "plan/planners/whole_table.h"

namespace shardsim {
namespace {

class RowWise : public Planner {
 public:
  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    return uniform_plan(workload, Strategy::row_wise, world_group(cluster), context.seed);
  }
};

}  // namespace

std::unique_ptr<Planner> make_row_wise(MapReader& /*options*/) {
  return std::make_unique<RowWise>();
}

}  // namespace shardsim
