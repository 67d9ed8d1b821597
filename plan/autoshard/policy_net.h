#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "models/learned/dense_stack.h"
#include "models/learned/shard_net.h"
#include "plan/autoshard/lstm.h"

namespace shardsim {

// Episodes of equal numbers of tables and ranks, played side by side. In every one a table is placed per step. Entry i
// of a list by table is step i / count of episode i mod count.
template <typename Scalar>
struct Episodes {
  int tables = 0, ranks = 0, count = 0, features = 0;
  std::vector<Scalar> values;  // [tables x count x features], standardised, in the order of placing
  std::vector<int> rank_of;    // [tables x count]
  std::vector<Scalar> loads;   // [tables x count x ranks x 2]: predicted cost and size of each shard before the step
  int steps() const { return tables * count; }
};

// AutoShard's policy (Zha et al., KDD 2022, sections 4.2 and B.2; training.py of daochenzha/autoshard at e861ecb), with
// the cost model that shares its vectors of tables. A table has 32 numbers, as in ShardNet, and the share of tables
// placed so far another 32; two layers of LSTM (64) read both. A rank has the sum of the vectors of its tables and of a
// table of zeros, and 32 numbers of its predicted cost and size. Both, and their product, go through 192-128-128-64-1:
// the rank's logit. The value of a state goes from the LSTM through 64-64-1.
template <typename Scalar>
class PolicyNet {
 public:
  static constexpr int kVector = ShardNet<Scalar>::kTableVector, kWidth = 2 * kVector;

  explicit PolicyNet(int features);

  std::size_t parameter_count() const;
  void initialise(std::span<Scalar> parameters, Rng& rng) const;
  // The cost model of shards, whose parameters come first.
  const ShardNet<Scalar>& costs() const { return costs_; }
  std::span<const Scalar> of_costs(std::span<const Scalar> parameters) const;

  struct Pass {
    using Outputs = typename DenseStack<Scalar>::Outputs;
    std::vector<Scalar> values;  // of the tables, and zeros behind them
    Outputs tables, step, load;
    std::vector<Scalar> shares, states;  // share placed [steps]; what the LSTM reads [steps x kWidth]
    typename Lstm<Scalar>::Pass lstm;
    Outputs value;                 // value.back(): [steps]
    std::vector<Scalar> sums;      // [count x ranks x kVector]: of each shard so far, without the table of zeros
    std::vector<Scalar> ranks;     // [steps x ranks x kWidth]
    std::vector<Scalar> products;  // [steps x ranks x 3 kWidth]
    Outputs logits;                // logits.back(): [steps x ranks] after finish(), [count x ranks] after offer()
  };

  // Computes everything that does not depend on the choices: vectors of tables, the LSTM, values.
  void start(std::span<const Scalar> parameters, const Episodes<Scalar>& episodes, Pass& pass) const;
  // The logits of one step, from `loads` of that step and the sums so far.
  std::span<const Scalar> offer(std::span<const Scalar> parameters, const Episodes<Scalar>& episodes, int step,
                                Pass& pass) const;
  // Adds the tables of that step to the sums of the shards that rank_of names.
  void place(const Episodes<Scalar>& episodes, int step, Pass& pass) const;
  // The logits of all steps, after each was offered.
  void finish(std::span<const Scalar> parameters, Pass& pass) const;

  // Adds to `gradient`, from the gradients of logits ([steps x ranks]) and values ([steps]).
  void backward(std::span<const Scalar> parameters, const Episodes<Scalar>& episodes, const Pass& pass,
                std::vector<Scalar> of_logits, std::vector<Scalar> of_values, std::span<Scalar> gradient) const;

 private:
  // The parameters of the parts, one after the other.
  template <typename Number>
  struct Parts {
    std::span<Number> tables, head, step, load, lstm, value, logits;
  };
  template <typename Number>
  Parts<Number> parts_of(std::span<Number> parameters) const;
  // From the gradient of what ranks and states were multiplied into; returns that of the LSTM's outputs, and adds that
  // of the tables' vectors.
  std::vector<Scalar> backward_of_ranks(const Parts<const Scalar>& parts, const Episodes<Scalar>& episodes,
                                        const Pass& pass, const std::vector<Scalar>& of_products,
                                        const Parts<Scalar>& gradient, std::vector<Scalar>& of_vectors) const;

  ShardNet<Scalar> costs_;
  DenseStack<Scalar> step_, load_, value_, logits_;
  Lstm<Scalar> lstm_;
};

extern template class PolicyNet<float>;
extern template class PolicyNet<double>;

}  // namespace shardsim
