#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "models/learned/dense_stack.h"

namespace shardsim {

// Episodes of one task, played side by side. Entry i of a list by step is step i / count of episode i mod count.
template <typename Scalar>
struct PlacingEpisodes {
  int tables = 0, ranks = 0, count = 0;
  std::vector<Scalar> values;  // [tables x features], standardised, in the order of placing
  std::vector<int> rank_of;    // [tables x count]
  std::vector<Scalar> costs;   // [tables x count x ranks x 3]: predicted of each shard before the step
  int steps() const { return tables * count; }
};

// DreamShard's policy (Zha et al., NeurIPS 2022; models.py of daochenzha/dreamshard at 73128ed): a vector of 32 for
// each table (features-128-32, ReLU behind both) and their sum for each rank; the three predicted costs of the rank
// through 3-64-32, ReLU behind both; both lists beside each other through 64-1 are the score of the rank.
template <typename Scalar>
class PlacingNet {
 public:
  static constexpr int kTableHidden = 128, kVector = 32, kCostHidden = 64, kCosts = 3;

  explicit PlacingNet(int features);

  std::size_t parameter_count() const {
    return tables_.parameter_count() + costs_.parameter_count() + score_.parameter_count();
  }
  void initialise(std::span<Scalar> parameters, Rng& rng) const;

  // For games that are played: vectors of tables ([tables x kVector]), and the scores of shards from the sums of their
  // vectors ([shards x kVector]) and their predicted costs ([shards x kCosts]).
  std::vector<Scalar> vectors(std::span<const Scalar> parameters, std::span<const Scalar> tables) const;
  std::vector<Scalar> scores(std::span<const Scalar> parameters, std::span<const Scalar> sums,
                             std::span<const Scalar> costs) const;

  using Outputs = typename DenseStack<Scalar>::Outputs;
  struct Pass {
    Outputs tables, costs;
    std::vector<Scalar> inputs;  // [steps x ranks x 2 kVector] of the scores
    Outputs scores;              // scores.back(): [steps x ranks]
  };
  // The scores of all steps of episodes that were played.
  void forward(std::span<const Scalar> parameters, const PlacingEpisodes<Scalar>& episodes, Pass& pass) const;
  // Adds to `gradient`, from that of the scores.
  void backward(std::span<const Scalar> parameters, const PlacingEpisodes<Scalar>& episodes, const Pass& pass,
                std::vector<Scalar> of_scores, std::span<Scalar> gradient) const;

 private:
  template <typename Number>
  struct Parts {
    std::span<Number> tables, costs, score;
  };
  template <typename Number>
  Parts<Number> parts_of(std::span<Number> parameters) const;
  // Sums and cost vectors of shards beside each other, appended.
  static void append_inputs(std::span<const Scalar> sums, std::span<const Scalar> costs, std::vector<Scalar>& inputs);

  DenseStack<Scalar> tables_, costs_, score_;
};

extern template class PlacingNet<float>;
extern template class PlacingNet<double>;

}  // namespace shardsim
