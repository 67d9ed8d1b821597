#include "plan/planners/factories.h"
#include "plan/planners/whole_table.h"

namespace shardsim {
namespace {

// A node is a replica group.
class Flex : public Planner {
 public:
  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    return uniform_plan(workload, Strategy::flex, node_groups(cluster), context.seed);
  }
};

}  // namespace

std::unique_ptr<Planner> make_flex(MapReader& /*options*/) {
  return std::make_unique<Flex>();
}

}  // namespace shardsim
