#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "models/learned/dense_stack.h"

namespace shardsim {

// Placements for a PlacementNet: of each its shards, of each shard its pieces.
template <typename Scalar>
struct PlacementSets {
  int features = 0;
  std::vector<Scalar> pieces;             // [pieces x features], standardised
  std::vector<int> members;               // pieces of all shards, one shard after the other
  std::vector<std::size_t> begins = {0};  // [shards + 1] into `members`
  std::vector<std::size_t> first = {0};   // [placements + 1] into the shards
  std::size_t shards() const { return begins.size() - 1; }
  std::size_t placements() const { return first.size() - 1; }
};

// DreamShard's cost network (Zha et al., NeurIPS 2022; models.py of daochenzha/dreamshard at 73128ed): a vector of 32
// for each table (features-128-32, ReLU behind both) and their sum for each shard; three heads 32-64-1 for what a shard
// takes; and one more for the whole placement, over the largest number of any shard at each place of the vector.
template <typename Scalar>
class PlacementNet {
 public:
  static constexpr int kTableHidden = 128, kVector = 32, kHeadHidden = 64;
  static constexpr std::size_t kCosts = 3;  // forward, backward, exchange

  explicit PlacementNet(int features);

  std::size_t parameter_count() const { return tables_.parameter_count() + (kCosts + 1) * head_.parameter_count(); }
  void initialise(std::span<Scalar> parameters, Rng& rng) const;

  using Outputs = typename DenseStack<Scalar>::Outputs;
  struct Pass {
    Outputs tables;
    std::vector<Scalar> sums;             // [shards x kVector]
    std::array<Outputs, kCosts> costs;    // of shards
    std::vector<Scalar> largest;          // [placements x kVector]
    std::vector<std::size_t> largest_of;  // the shards that they are of
    Outputs all;                          // of placements
  };
  // In pass.costs[...].back() and pass.all.back().
  void forward(std::span<const Scalar> parameters, const PlacementSets<Scalar>& sets, Pass& pass) const;
  // Adds to `gradient`, from the gradients of those numbers.
  void backward(std::span<const Scalar> parameters, const PlacementSets<Scalar>& sets, const Pass& pass,
                std::array<std::vector<Scalar>, kCosts> of_costs, std::vector<Scalar> of_all,
                std::span<Scalar> gradient) const;

  // Parts alone, for placements that grow: vectors of tables ([tables x kVector]); the three costs of shards
  // ([shards x 3]) and the cost of one placement, from sums of vectors.
  std::vector<Scalar> vectors(std::span<const Scalar> parameters, std::span<const Scalar> tables) const;
  std::vector<Scalar> shard_costs(std::span<const Scalar> parameters, std::span<const Scalar> sums) const;
  Scalar placement_cost(std::span<const Scalar> parameters, std::span<const Scalar> sums) const;

 private:
  // Returns the parameters of head `number`; kCosts is the head of the placement.
  template <typename Number>
  std::span<Number> of_head(std::span<Number> parameters, std::size_t number) const {
    return parameters.subspan(tables_.parameter_count() + number * head_.parameter_count(), head_.parameter_count());
  }
  template <typename Number>
  std::span<Number> of_tables(std::span<Number> parameters) const {
    return parameters.first(tables_.parameter_count());
  }
  void take_largest(const PlacementSets<Scalar>& sets, Pass& pass) const;

  DenseStack<Scalar> tables_, head_;
};

extern template class PlacementNet<float>;
extern template class PlacementNet<double>;

}  // namespace shardsim
