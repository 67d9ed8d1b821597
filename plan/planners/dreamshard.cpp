#include <fmt/format.h>

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
    const StatedPolicy stated = stated_policy(options);
    policy_ = read_placing_policy(stated.file, stated.provider);
    any_family_ = !stated.provider.empty();
    constexpr std::int64_t kMostSamples = 1000;
    samples_ = static_cast<int>(options.count("samples", Bounds::from(0).to(kMostSamples), kUsualSamples));
  }

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    check_family(context);
    const ShardingTask task = sharding_task(workload, cluster, context, policy_.setting.provider);
    check_fits(policy_, task, place_, "dreamshard");
    const GamePlan best = best_of_games(policy_, task, samples_, context.seed);
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
  // Costs of the kernels that a GPU runs and those of a roofline are two families; a scenario that states the provider
  // knows which one it takes.
  void check_family(const PlannerContext& context) const {
    const std::string kernels = context.host.kernels(), &provider = policy_.setting.provider;
    const bool is_of_kernels = provider == kDefaultComputeModel;
    if (any_family_ || is_of_kernels == !kernels.empty()) return;
    throw input_error(
        place_,
        fmt::format("the policy was trained on costs by {}, the lookups of this case are timed by {}", provider,
                    kernels.empty() ? "its own compute model" : "the laws of " + kernels + " kernels"),
        fmt::format("Train a policy for this workload: shardsim dreamshard train SCENARIO -o policy.h5; or state "
                    "policy: {{file: FILE, provider: {}}} to take this one nevertheless",
                    provider));
  }

  Place place_;
  PlacingPolicy policy_;
  int samples_ = 0;
  bool any_family_ = false;
};

}  // namespace

std::unique_ptr<Planner> make_dreamshard(MapReader& options) {
  return std::make_unique<DreamShard>(options);
}

}  // namespace shardsim
