#pragma once

#include <span>
#include <vector>

#include "plan/autoshard/policy.h"

namespace shardsim {

// How far a policy's cost model is off on shards that it is asked about, as AutoShard judges it (KDD 2022, Table 3).
struct CostError {
  int shards = 0;          // 0: there was none to ask about
  double absolute_ms = 0;  // mean of |predicted - labelled|
  double square_ms2 = 0;   // mean square of the same
  double share = 0;        // the mean of |predicted - labelled| over that of the labels
};

inline constexpr int kJudgedShards = 100, kTablesOfJudgedShard = 10;  // of that table

// Seconds that the cost model predicts for every shard; an empty one takes none.
std::vector<double> predicted_seconds(const ShardingPolicy& policy, const ShardingTask& task,
                                      std::span<const int> rank_of);

// False for a policy that was trained without a cost model: it predicts 0 for every shard.
bool predicts_costs(const ShardingPolicy& policy);

// Over random shards of ten tables (fewer where a task has fewer) of random tasks: the same for every policy. A task of
// a single rank cannot say what a part of its tables takes, and is left out.
CostError cost_error(const ShardingPolicy& policy, std::span<const ShardingTask* const> tasks);

}  // namespace shardsim
