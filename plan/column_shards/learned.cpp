#include <algorithm>
#include <map>

#include "plan/column_shards/shard_costs.h"

namespace shardsim {
namespace {

class LearnedShards final : public ShardCosts {
 public:
  LearnedShards(const LearnedCosts& costs, const Workload& workload, int world)
      : costs_(costs),
        workload_(workload),
        batch_(workload.batch_per_gpu * world),
        sums_(static_cast<std::size_t>(world)) {}

  void learn(const Placement& piece) override {
    const auto table = static_cast<std::size_t>(piece.table);
    auto found = statistics_.find(table);
    if (found == statistics_.end()) {
      found = statistics_.emplace(table, table_statistics(workload_.tables[table], batch_)).first;
    }
    vectors_.push_back(costs_.vector_of({found->second, piece.columns()}));
  }

  void clear(int rank) override { sums_[static_cast<std::size_t>(rank)] = {}; }
  void add(int rank, int kind) override {
    LearnedCosts::add(sums_[static_cast<std::size_t>(rank)], vectors_[static_cast<std::size_t>(kind)]);
  }
  double seconds(int rank) override { return costs_.seconds_of(sums_[static_cast<std::size_t>(rank)]).sum(); }

 private:
  const LearnedCosts& costs_;
  const Workload& workload_;
  std::int64_t batch_;
  std::map<std::size_t, TableStatistics> statistics_;  // by table
  std::vector<CostVector> vectors_;                    // by kind
  std::vector<CostVector> sums_;                       // by rank
};

// NeuroShard's own: the nets take the columns of every rank, the forward one also how much later than the first each
// rank starts, and an early rank's seconds hold its waiting.
class LearnedPlans final : public PlanCosts {
 public:
  LearnedPlans(const LearnedCosts& costs, int world) : costs_(costs), world_(static_cast<std::size_t>(world)) {}

  void learn(const PieceKind& kind, const Placement&) override { widths_.push_back(kind.width); }
  std::size_t batch() const override { return 1024; }

  void seconds(std::span<const ShardedPieces> plans, std::span<const double>, std::span<double> seconds) override {
    const std::size_t numbers = plans.size() * world_;
    dims_.assign(numbers, 0.0);
    for (std::vector<double>* const numbers_of : {&starts_, &forward_, &backward_}) numbers_of->resize(numbers);
    for (std::size_t i = 0; i < plans.size(); ++i) add_dims(plans[i], dims_.data() + i * world_);
    costs_.backward_exchanges(static_cast<int>(world_), dims_, backward_);
    for (std::size_t i = 0; i < plans.size(); ++i) set_starts(plans[i], i * world_);
    costs_.forward_exchanges(static_cast<int>(world_), dims_, starts_, forward_);
    for (std::size_t i = 0; i < plans.size(); ++i) seconds[i] = longest(plans[i], i * world_);
  }

 private:
  void add_dims(const ShardedPieces& plan, double* dims) const {
    for (std::size_t i = 0; i < plan.kinds.size(); ++i) {
      dims[plan.rank_of[i]] += widths_[static_cast<std::size_t>(plan.kinds[i])];
    }
  }

  void set_starts(const ShardedPieces& plan, std::size_t first) {
    for (std::size_t r = 0; r < world_; ++r) starts_[first + r] = plan.shard_seconds[r] + backward_[first + r];
    const auto begin = starts_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(world_);
    const double least = *std::min_element(begin, end);
    std::for_each(begin, end, [least](double& start) { start -= least; });
  }

  double longest(const ShardedPieces& plan, std::size_t first) const {
    double most = 0;
    for (std::size_t r = 0; r < world_; ++r) {
      most = std::max(most, plan.shard_seconds[r] + backward_[first + r] + forward_[first + r]);
    }
    return most;
  }

  const LearnedCosts& costs_;
  std::size_t world_;
  std::vector<double> widths_;                              // by kind
  std::vector<double> dims_, starts_, forward_, backward_;  // [plan][rank]
};

}  // namespace

std::unique_ptr<ShardCosts> learned_shard_costs(const LearnedCosts& costs, const Workload& workload, int world) {
  return std::make_unique<LearnedShards>(costs, workload, world);
}

std::unique_ptr<PlanCosts> learned_plan_costs(const LearnedCosts& costs, int world) {
  return std::make_unique<LearnedPlans>(costs, world);
}

}  // namespace shardsim
