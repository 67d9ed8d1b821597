#include "plan/autoshard/cost_error.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"

namespace shardsim {
namespace {

// Rank 0 gets that many tables, drawn at random, and rank 1 the others.
std::vector<int> drawn_shard(const ShardingTask& task, Rng& rng) {
  std::vector<int> rank_of(static_cast<std::size_t>(task.tables()), 1);
  for (int left = std::min(kTablesOfJudgedShard, task.tables()); left > 0;) {
    int& rank = rank_of[rng.below(rank_of.size())];
    if (rank == 0) continue;
    rank = 0;
    --left;
  }
  return rank_of;
}

}  // namespace

std::vector<double> predicted_seconds(const ShardingPolicy& policy, const ShardingTask& task,
                                      std::span<const int> rank_of) {
  constexpr std::size_t kVector = PolicyNet<float>::kVector;
  const PolicyNet<float> net(static_cast<int>(policy.used.size()));
  const std::span<const float> of_costs = net.of_costs(policy.parameters);
  DenseStack<float>::Outputs tables, head;
  net.costs().tables().forward(net.costs().of_tables(of_costs), policy.scaled(task.features), tables);
  std::vector<float> sums(static_cast<std::size_t>(task.ranks) * kVector);
  std::vector<bool> holds(static_cast<std::size_t>(task.ranks), false);
  for (std::size_t t = 0; t < rank_of.size(); ++t) {
    const auto rank = static_cast<std::size_t>(rank_of[t]);
    holds[rank] = true;
    for (std::size_t k = 0; k < kVector; ++k) sums[rank * kVector + k] += tables.back()[t * kVector + k];
  }
  net.costs().head().forward(net.costs().of_head(of_costs), sums, head);
  std::vector<double> seconds;
  for (std::size_t rank = 0; rank < holds.size(); ++rank)
    seconds.push_back(holds[rank] ? policy.unit_seconds * static_cast<double>(head.back()[rank]) : 0);
  return seconds;
}

bool predicts_costs(const ShardingPolicy& policy) {
  const PolicyNet<float> net(static_cast<int>(policy.used.size()));
  return std::ranges::any_of(net.costs().of_head(net.of_costs(policy.parameters)),
                             [](float value) { return value != 0; });
}

CostError cost_error(const ShardingPolicy& policy, std::span<const ShardingTask* const> tasks) {
  std::vector<const ShardingTask*> divisible;
  std::ranges::copy_if(tasks, std::back_inserter(divisible),
                       [](const ShardingTask* task) { return task->ranks > 1 && task->tables() > 0; });
  CostError error;
  if (divisible.empty()) return error;
  Rng rng(1);
  double labels_ms = 0;
  for (; error.shards < kJudgedShards; ++error.shards) {
    const ShardingTask& task = *divisible[rng.below(divisible.size())];
    const std::vector<int> rank_of = drawn_shard(task, rng);
    const double label_ms = task.label(rank_of).front() * 1e3;
    const double off_ms = std::abs(predicted_seconds(policy, task, rank_of).front() * 1e3 - label_ms);
    error.absolute_ms += off_ms / kJudgedShards;
    error.square_ms2 += off_ms * off_ms / kJudgedShards;
    labels_ms += label_ms / kJudgedShards;
  }
  error.share = labels_ms > 0 ? error.absolute_ms / labels_ms : 0;
  return error;
}

}  // namespace shardsim
