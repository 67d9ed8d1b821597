#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/autoshard/policy.h"
#include "plan/dreamshard/placing_policy.h"
#include "study/scenario/scenario.h"

namespace shardsim {

// A case of a scenario as a task for AutoShard and DreamShard, judged by the case's own compute model.
class PolicyCase {
 public:
  // The question: where its tables go, or only what shards of them cost, which no memory limits.
  enum class Asked { places, costs };
  // Errors, at the case: those of sharding_task(), and for places of refuse_unplaceable(). `item` outlives it.
  PolicyCase(const Case& item, std::uint64_t seed, Asked asked = Asked::places);
  ~PolicyCase();
  PolicyCase(PolicyCase&&) noexcept;
  PolicyCase& operator=(PolicyCase&&) noexcept;

  const ShardingTask& task() const;
  // The same with the costs of whole placements, as DreamShard measures them. Refers to what this case holds.
  PlacementTask with_exchanges() const;
  // The ranks that a planner chooses for whole tables; none where it finds no plan.
  std::vector<int> placed_by(const Tree& planner) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// The balance of one way of placing tables: means over the tasks that it solves.
struct BalanceResult {
  std::string way;
  int solved = 0;
  double balance = 0, least_balance = 0;  // least over largest shard, and the least of any task
  double largest_ms = 0;                  // of the slowest shard
  double speed_up = 0;                    // mean over tasks of the slowest shard of random places over this one's
};

// The policy, the greedy heuristics and random places on these tasks.
std::vector<BalanceResult> judge_policy(const ShardingPolicy& policy, const std::vector<PolicyCase>& cases);

// The costs of the placements of one way, exchanges included: means over the tasks that it solves.
struct PlacementResult {
  std::string way;
  int solved = 0;
  double ms = 0;
  double speed_up = 0;  // mean over tasks of random places over this one's
};
struct PlacementJudgement {
  std::vector<PlacementResult> ways;
  double cost_error = 0;  // of the policy's cost network on the placements that it chooses by itself, relative, mean
};
PlacementJudgement judge_placing(const PlacingPolicy& policy, const std::vector<PolicyCase>& cases, std::uint64_t seed);

}  // namespace shardsim
