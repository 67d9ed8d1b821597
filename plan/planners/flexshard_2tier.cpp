#include "plan/planners/factories.h"
#include "plan/planners/flexshard.h"

namespace shardsim {
namespace {

class Flexshard2Tier : public Planner {
 public:
  explicit Flexshard2Tier(MapReader& options) : options_(options) {}

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    return options_.plan(workload, cluster, context, 2);
  }

 private:
  FlexshardOptions options_;
};

}  // namespace

std::unique_ptr<Planner> make_flexshard_2tier(MapReader& options) {
  return std::make_unique<Flexshard2Tier>(options);
}

}  // namespace shardsim
