#include "plan/autoshard/sharding_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>

#include "base/error.h"
#include "base/units.h"
#include "plan/column_shards/piece_kinds.h"
#include "plan/column_shards/shard_costs.h"

namespace shardsim {
namespace {

constexpr PieceRules kWholeTables{true, false};

// "fp16", or all types in the order of their tables: "fp32 fp16".
std::string dtypes_of(const Workload& workload) {
  std::vector<std::string> names;
  for (const Table& table : workload.tables) {
    const std::string name = dtype_name(table.dtype);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  std::ranges::sort(names);
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : " ") + name;
  return all;
}

// Seconds of shards, by what each table is to them.
class ShardLabels {
 public:
  ShardLabels(const Workload& workload, const Cluster& cluster, const PlannerContext& context)
      : costs_(closed_form_shard_costs(workload, cluster, context)), slowness_(slowness(cluster)) {}

  ShardCosts* costs() { return costs_.get(); }
  void add(int kind) { kinds_.push_back(kind); }

  std::vector<double> seconds(std::span<const int> rank_of) {
    std::vector<double> result(slowness_.size());
    for (std::size_t rank = 0; rank < slowness_.size(); ++rank) costs_->clear(static_cast<int>(rank));
    for (std::size_t t = 0; t < rank_of.size(); ++t) costs_->add(rank_of[t], kinds_[t]);
    for (std::size_t rank = 0; rank < slowness_.size(); ++rank)
      result[rank] = costs_->seconds(static_cast<int>(rank)) * slowness_[rank];
    return result;
  }

 private:
  std::unique_ptr<ShardCosts> costs_;
  std::vector<double> slowness_;  // by rank
  std::vector<int> kinds_;        // by table
};

}  // namespace

ShardingTask sharding_task(const Workload& workload, const Cluster& cluster, const PlannerContext& context,
                           const std::string& provider) {
  if (!context.host.answers(PlannerHost::Question::loads))
    throw std::logic_error("a task without what a placement adds");
  const auto labels = std::make_shared<ShardLabels>(workload, cluster, context);
  PieceKinds kinds(workload, cluster, context, kWholeTables, labels->costs(), nullptr);
  const std::int64_t batch = workload.batch_per_gpu * cluster.world_size();
  ShardingTask task;
  task.name = workload.name;
  task.ranks = cluster.world_size();
  task.setting = {provider, cluster.spec().gpu.model, batch, workload.optimizer, dtypes_of(workload)};
  task.room = static_cast<double>(cluster.memory_per_rank().count);
  for (std::size_t t = 0; t < workload.tables.size(); ++t) {
    const Table& table = workload.tables[t];
    const std::vector<float> features =
        table_features({table_statistics(table, batch), table.dim}, FeatureLayout::autoshard);
    task.features.insert(task.features.end(), features.begin(), features.end());
    const int kind = kinds.whole_table(t);
    labels->add(kind);
    task.alone.push_back(kinds[kind].seconds);
    task.bytes.push_back(kinds[kind].bytes);
    task.room -= kinds[kind].everywhere;
  }
  task.label = [labels](std::span<const int> rank_of) { return labels->seconds(rank_of); };
  return task;
}

Plan dealt_plan(const Workload& workload, const Cluster& cluster, std::span<const int> rank_of,
                const PlannerContext& context) {
  PieceKinds kinds(workload, cluster, context, kWholeTables, nullptr, nullptr);
  Plan plan;
  plan.hash_seed = context.seed;
  for (std::size_t t = 0; t < rank_of.size(); ++t)
    plan.placements.push_back(kinds.placement(t, kinds.whole_table(t), 0, rank_of[t]));
  return plan;
}

std::vector<double> bytes_held(const ShardingTask& task, std::span<const int> rank_of) {
  std::vector<double> held(static_cast<std::size_t>(task.ranks), 0.0);
  for (std::size_t t = 0; t < rank_of.size(); ++t) held[static_cast<std::size_t>(rank_of[t])] += task.bytes[t];
  return held;
}

double bytes_over(const ShardingTask& task, std::span<const int> rank_of) {
  return std::ranges::max(bytes_held(task, rank_of)) - task.room;
}

void refuse_overfull(const ShardingTask& task, std::span<const int> rank_of) {
  const std::vector<double> held = bytes_held(task, rank_of);
  const auto most = std::ranges::max_element(held);
  if (*most <= task.room) return;
  const Bytes missing{static_cast<std::int64_t>(std::ceil(*most - task.room))};
  throw Error(Failure::infeasible, Place{},
              fmt::format("the policy cannot place all {} tables: {} of memory are missing on GPU {}", task.tables(),
                          to_text(missing), most - held.begin()),
              "Take more memory, more GPUs, or a planner that cuts tables (neuroshard)");
}

void refuse_unplaceable(const ShardingTask& task) {
  std::vector<double> held(static_cast<std::size_t>(task.ranks), 0);
  std::vector<double> largest_first = task.bytes;
  std::ranges::sort(largest_first, std::greater<>{});
  for (const double bytes : largest_first) *std::ranges::min_element(held) += bytes;
  const double most = std::ranges::max(held);
  if (most <= task.room) return;
  throw Error(
      Failure::infeasible, Place{},
      fmt::format("the {} tables of {} do not fit: dealt whole, the largest first, {} of memory are missing on a "
                  "GPU that has room for {}",
                  task.tables(), task.name, to_text(Bytes{static_cast<std::int64_t>(std::ceil(most - task.room))}),
                  to_text(Bytes{static_cast<std::int64_t>(std::max(task.room, 0.0))})),
      "Take more memory or more GPUs, or leave this case out: nothing can be learned from it");
}

double balance(std::span<const double> seconds) {
  const auto [least, most] = std::ranges::minmax_element(seconds);
  return *most > 0 ? *least / *most : 1;
}

}  // namespace shardsim
