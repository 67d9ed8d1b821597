#include <algorithm>

#include "plan/dreamshard/placing_policy.h"
#include "plan/planner.h"

namespace shardsim {
namespace {

// DreamShard (Zha et al., NeurIPS 2022): a trained policy places whole tables, one after the other, so that computation
// and exchanges, as its cost network predicts them, are short together.
class DreamShard : public Planner {
 public:
  explicit DreamShard(MapReader& options) : place_(options.place_of("policy")) {
    stated_ = stated_policy(options);
    policy_ = read_placing_policy(stated_.file, stated_.provider);
    constexpr std::int64_t kMostSamples = 1000;
    const Bounds bounds = Bounds::from(0).to(kMostSamples);
    games_.samples = static_cast<int>(options.count("samples", bounds, games_.samples));
    games_.measured = static_cast<int>(options.count("measured", bounds, games_.measured));
  }

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    check_provider(policy_, stated_, context.host, place_, "dreamshard");
    const PlacementTask task = placement_task(workload, cluster, context, policy_.setting.provider);
    check_fits(policy_, task, place_, "dreamshard");
    const GamePlan best = best_of_games(policy_, task, games_, context.seed);
    refuse_overfull(task, best.rank_of);
    context.host.say(origin_of(policy_, task));
    context.host.learned_from(policy_.setting.judge());
    if (context.host.listens()) {
      context.host.state("predicted_ms", best.seconds * 1e3);
      const std::vector<double> seconds = task.label(best.rank_of);
      context.host.state("largest_shard_ms", *std::ranges::max_element(seconds) * 1e3);
    }
    return dealt_plan(workload, cluster, best.rank_of, context);
  }

 private:
  Place place_;
  StatedPolicy stated_;
  PlacingPolicy policy_;
  GameCounts games_;
};

}  // namespace

std::unique_ptr<Planner> make_dreamshard(MapReader& options) {
  return std::make_unique<DreamShard>(options);
}

}  // namespace shardsim
