#include <algorithm>

#include "plan/autoshard/policy.h"
#include "plan/planner.h"

namespace shardsim {
namespace {

// AutoShard (Zha et al., KDD 2022): a trained policy places whole tables, one after the other. It looks at shards'
// lookups and updates alone; exchanges are no part of what it was rewarded for.
class AutoShard : public Planner {
 public:
  explicit AutoShard(MapReader& options) : place_(options.place_of("policy")) {
    stated_ = stated_policy(options);
    policy_ = read_policy(stated_.file, stated_.provider);
  }

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    check_provider(policy_, stated_, context.host, place_, "autoshard");
    const ShardingTask task = sharding_task(workload, cluster, context, policy_.setting.provider);
    check_fits(policy_, task, place_);
    const std::vector<int> rank_of = placed(policy_, task);
    refuse_overfull(task, rank_of);
    context.host.say(origin_of(policy_, task));
    context.host.learned_from(policy_.setting.judge());
    if (context.host.listens()) {
      const std::vector<double> seconds = task.label(rank_of);
      context.host.state("largest_shard_ms", *std::ranges::max_element(seconds) * 1e3);
      context.host.state("balance", balance(seconds));
    }
    return dealt_plan(workload, cluster, rank_of, context);
  }

 private:
  Place place_;
  StatedPolicy stated_;
  ShardingPolicy policy_;
};

}  // namespace

std::unique_ptr<Planner> make_autoshard(MapReader& options) {
  return std::make_unique<AutoShard>(options);
}

}  // namespace shardsim
