#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/autoshard/policy.h"
#include "study/scenario/scenario.h"

namespace shardsim {

// A case of a scenario as a task for AutoShard, judged by the case's own compute model.
class PolicyCase {
 public:
  // Errors (Failure::input): those of sharding_task(), at the case. `item` outlives it.
  PolicyCase(const Case& item, std::uint64_t seed);
  ~PolicyCase();
  PolicyCase(PolicyCase&&) noexcept;
  PolicyCase& operator=(PolicyCase&&) noexcept;

  const ShardingTask& task() const;
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

}  // namespace shardsim
