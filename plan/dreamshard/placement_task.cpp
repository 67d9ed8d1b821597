#include "plan/dreamshard/placement_task.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>

#include "plan/column_shards/piece_kinds.h"
#include "plan/column_shards/shard_costs.h"

namespace shardsim {
namespace {

// Measures placements of the tables of one workload.
class PlacementScale {
 public:
  PlacementScale(const Workload& workload, const Cluster& cluster, const PlannerContext& context)
      : forward_(closed_form_shard_costs(workload, cluster, context, ShardSteps::forward)),
        backward_(closed_form_shard_costs(workload, cluster, context, ShardSteps::backward)),
        plans_(closed_form_plan_costs(cluster, context, workload.pipeline == "none")),
        slowness_(slowness(cluster)) {
    PieceKinds kinds(workload, cluster, context, {true, false}, forward_.get(), plans_.get());
    for (std::size_t t = 0; t < workload.tables.size(); ++t) {
      const auto known = static_cast<int>(kinds.size());
      kinds_.push_back(kinds.whole_table(t));
      if (kinds_.back() == known) backward_->learn(kinds.placement(t, known, 0, 0));
    }
  }

  PlacementCosts costs(std::span<const int> rank_of) {
    PlacementCosts result = whole(rank_of);
    for (std::size_t rank = 0; rank < slowness_.size(); ++rank)
      result.exchange.push_back(exchange_alone(rank_of, static_cast<int>(rank)));
    return result;
  }

  // Without `exchange`.
  PlacementCosts whole(std::span<const int> rank_of) {
    PlacementCosts result;
    result.forward = shard_seconds(*forward_, rank_of);
    result.backward = shard_seconds(*backward_, rank_of);
    std::vector<double> shards;
    for (std::size_t rank = 0; rank < slowness_.size(); ++rank)
      shards.push_back(result.forward[rank] + result.backward[rank]);
    all_kinds_.assign(kinds_.begin(), kinds_.end());
    all_ranks_.assign(rank_of.begin(), rank_of.end());
    result.all = plan_seconds(all_kinds_, all_ranks_, shards);
    return result;
  }

 private:
  std::vector<double> shard_seconds(ShardCosts& costs, std::span<const int> rank_of) const {
    std::vector<double> seconds;
    for (std::size_t rank = 0; rank < slowness_.size(); ++rank) costs.clear(static_cast<int>(rank));
    for (std::size_t t = 0; t < rank_of.size(); ++t) costs.add(rank_of[t], kinds_[t]);
    for (std::size_t rank = 0; rank < slowness_.size(); ++rank)
      seconds.push_back(costs.seconds(static_cast<int>(rank)) * slowness_[rank]);
    return seconds;
  }

  // The exchanges of a plan in which the other ranks hold nothing.
  double exchange_alone(std::span<const int> rank_of, int rank) {
    all_kinds_.clear(), all_ranks_.clear();
    for (std::size_t t = 0; t < rank_of.size(); ++t) {
      if (rank_of[t] != rank) continue;
      all_kinds_.push_back(kinds_[t]);
      all_ranks_.push_back(static_cast<std::uint16_t>(rank));
    }
    if (all_kinds_.empty()) return 0;
    const std::vector<double> nothing(slowness_.size(), 0.0);
    return plan_seconds(all_kinds_, all_ranks_, nothing);
  }

  double plan_seconds(std::span<const int> kinds, std::span<const std::uint16_t> ranks,
                      std::span<const double> shards) {
    const std::array<ShardedPieces, 1> plan{ShardedPieces{kinds, ranks, shards}};
    const std::array<double, 1> limit{std::numeric_limits<double>::infinity()};
    std::array<double, 1> seconds{};
    plans_->seconds(plan, limit, seconds);
    return seconds.front();
  }

  std::unique_ptr<ShardCosts> forward_, backward_;
  std::unique_ptr<PlanCosts> plans_;
  std::vector<double> slowness_;  // by rank
  std::vector<int> kinds_;        // by table
  std::vector<int> all_kinds_;    // of the plan that is asked about
  std::vector<std::uint16_t> all_ranks_;
};

}  // namespace

PlacementTask placement_task(const Workload& workload, const Cluster& cluster, const PlannerContext& context,
                             const std::string& provider) {
  PlacementTask task{sharding_task(workload, cluster, context, provider), {}, {}};
  const auto scale = std::make_shared<PlacementScale>(workload, cluster, context);
  task.measure = [scale](std::span<const int> rank_of) { return scale->costs(rank_of); };
  task.measure_all = [scale](std::span<const int> rank_of) { return scale->whole(rank_of).all; };
  return task;
}

}  // namespace shardsim
