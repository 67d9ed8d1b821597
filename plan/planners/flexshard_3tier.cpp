#include "plan/planners/factories.h"
#include "plan/planners/flexshard.h"

namespace shardsim {
namespace {

CutRule read_rule(MapReader& options) {
  const std::string cut = options.choice("cut", {"paper", "crossover", "optimal"}, "paper");
  if (cut == "crossover") return CutRule::crossover;
  return cut == "optimal" ? CutRule::optimal : CutRule::paper;
}

class Flexshard3Tier : public Planner {
 public:
  explicit Flexshard3Tier(MapReader& options) : options_(options) { options_.rule = read_rule(options); }

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    return options_.plan(workload, cluster, context, 3);
  }

 private:
  FlexshardOptions options_;
};

}  // namespace

std::unique_ptr<Planner> make_flexshard_3tier(MapReader& options) {
  return std::make_unique<Flexshard3Tier>(options);
}

}  // namespace shardsim
