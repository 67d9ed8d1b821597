#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/learned/learned_costs.h"
#include "plan/planner.h"

namespace shardsim {

// Tables to be dealt whole over ranks, as AutoShard sees them (Zha et al., KDD 2022, section 3.1): the slowest shard's
// lookups and updates are to be short, and exchanges do not count.
struct ShardingTask {
  std::string name;
  int ranks = 0;
  std::vector<float> features;  // [tables x feature_names(autoshard)], as table_features() has them
  std::vector<double> bytes;    // [tables] of memory that a table takes on its rank
  double room = 0;              // bytes that tables may take on each rank
  std::vector<double> alone;    // [tables] seconds of a shard that holds this table alone
  LabelSetting setting;
  // Seconds of every shard; rank_of: [tables]. An empty shard takes none. May hold on to what the task was made of.
  std::function<std::vector<double>(std::span<const int> rank_of)> label;

  int tables() const { return static_cast<int>(alone.size()); }
};

// The task that a workload and a cluster set, with the seconds of the host, which must
// outlive it, as must the others. `provider`: who says the seconds, for the setting.
// Errors (Failure::input): a sequence table, or one that may not be table_wise, each by its name.
// std::logic_error: a context without load or compute.
ShardingTask sharding_task(const Workload& workload, const Cluster& cluster, const PlannerContext& context,
                           const std::string& provider);
// The plan that deals so, within the context's constraints.
Plan dealt_plan(const Workload& workload, const Cluster& cluster, std::span<const int> rank_of,
                const PlannerContext& context);

// Bytes that tables take on each rank.
std::vector<double> bytes_held(const ShardingTask& task, std::span<const int> rank_of);
// Bytes above its room on the fullest rank; 0 or less: the tables fit.
double bytes_over(const ShardingTask& task, std::span<const int> rank_of);
// Error (Failure::infeasible): a rank has no room for what it holds; says how many bytes are missing.
void refuse_overfull(const ShardingTask& task, std::span<const int> rank_of);
// Error (Failure::infeasible): no way to deal whole tables fits, as far as dealing them by size, the largest first and
// each onto the emptiest rank, can tell. Nothing can be learned from such a task.
void refuse_unplaceable(const ShardingTask& task);
// Least over largest seconds of the shards: AutoShard's degree of balance, and its reward.
double balance(std::span<const double> seconds);

}  // namespace shardsim
