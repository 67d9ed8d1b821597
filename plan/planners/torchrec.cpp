#include "plan/planner.h"
#include "plan/torchrec/bridge/choice.h"

namespace shardsim {
namespace {

// TorchRec's EmbeddingShardingPlanner (plan/torchrec/).
class Torchrec : public Planner {
 public:
  explicit Torchrec(torchrec::PlannerOptions options) : options_(std::move(options)) {}

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    return torchrec::choose_plan(options_, workload, cluster, context).plan;
  }

 private:
  torchrec::PlannerOptions options_;
};

}  // namespace

std::unique_ptr<Planner> make_torchrec(MapReader& options) {
  return std::make_unique<Torchrec>(torchrec::read_planner_options(options));
}

}  // namespace shardsim
