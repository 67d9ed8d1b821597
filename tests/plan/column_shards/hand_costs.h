#pragma once

#include <algorithm>
#include <functional>

#include "plan/column_shards/column_search.h"
#include "tests/plan/test_setting.h"

namespace shardsim {

// Seconds of a shard: what `of_piece` says of its pieces, added up. Exchanges take nothing.
class HandShards final : public ShardCosts {
 public:
  HandShards(int ranks, std::function<double(const Placement&)> of_piece)
      : of_piece_(std::move(of_piece)), sums_(static_cast<std::size_t>(ranks), 0.0) {}

  void learn(const Placement& piece) override { seconds_.push_back(of_piece_(piece)); }
  void clear(int rank) override { sums_[static_cast<std::size_t>(rank)] = 0; }
  void add(int rank, int kind) override {
    sums_[static_cast<std::size_t>(rank)] += seconds_[static_cast<std::size_t>(kind)];
  }
  double seconds(int rank) override { return sums_[static_cast<std::size_t>(rank)]; }

 private:
  std::function<double(const Placement&)> of_piece_;
  std::vector<double> seconds_, sums_;
};

class HandPlans final : public PlanCosts {
 public:
  void learn(const PieceKind&, const Placement&) override {}
  void seconds(std::span<const ShardedPieces> plans, std::span<const double>, std::span<double> seconds) override {
    for (std::size_t i = 0; i < plans.size(); ++i) seconds[i] = *std::ranges::max_element(plans[i].shard_seconds);
  }
  std::size_t batch() const override { return 7; }
};

// Weights count, and nothing else.
inline std::unique_ptr<MemoryModel> weights_memory() {
  return make_memory_model(options("{name: paper, mp_dynamic_copies: 0, dp_dynamic_copies: 0}"));
}

}  // namespace shardsim
