#include "plan/planners/factories.h"
#include "plan/planners/whole_table.h"

namespace shardsim {
namespace {

class DataParallel : public Planner {
 public:
  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    return uniform_plan(workload, Strategy::data_parallel, world_group(cluster), context.seed);
  }
};

}  // namespace

std::unique_ptr<Planner> make_data_parallel(MapReader& /*options*/) {
  return std::make_unique<DataParallel>();
}

}  // namespace shardsim
