#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plan/learned/dense_stack.h"

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

  using Outputs = typename DenseStack<Scalar>::Outputs;
  struct Pass {
    Outputs tables;
    std::vector<Scalar> sums;    // [count x ranks x kVector] of each shard so far
    std::vector<Scalar> inputs;  // [steps x ranks x 2 kVector] of the scores
    Outputs costs, scores;       // of the last step offered; after finish() of all: scores.back() is [steps x ranks]
  };
  void start(std::span<const Scalar> parameters, const PlacingEpisodes<Scalar>& episodes, Pass& pass) const;
  // The scores of one step ([count x ranks]), from `costs` of that step and the sums so far.
  std::span<const Scalar> offer(std::span<const Scalar> parameters, const PlacingEpisodes<Scalar>& episodes, int step,
                                Pass& pass) const;
  // Adds the table of that step to the sums of the shards that rank_of names.
  void place(const PlacingEpisodes<Scalar>& episodes, int step, Pass& pass) const;
  void finish(std::span<const Scalar> parameters, const PlacingEpisodes<Scalar>& episodes, Pass& pass) const;

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

  DenseStack<Scalar> tables_, costs_, score_;
};

extern template class PlacingNet<float>;
extern template class PlacingNet<double>;

}  // namespace shardsim
