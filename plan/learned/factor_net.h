#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "plan/learned/shard_net.h"
#include "plan/learned/tables_and_head.h"

namespace shardsim {

// The amounts that a piece adds to its shard's sums. Features are logarithms and do not add up. Each amount is in a
// unit that makes a shard of some tables about 1.
struct PieceAmounts {
  static constexpr int kCount = 4;
  enum : std::size_t { work, touched, lookups, pieces };
};

// A shard's time as its tables' work times factors: table m takes w_m exp(f_m), f_m a net's answer for its features
// (features-32-1), w_m its work; the shard takes their sum times exp(h), h a net's answer (4-16-1) for the logarithms
// of that sum and of the other three amounts, summed. So a net has to predict only by which factor a lookup is slower
// in one table than in another, which is the same task for shards of 10 us and of 100 ms. The term h accounts for
// tables that displace each other from the caches. Sets hold `amounts`.
template <typename Scalar>
class FactorNet : public TablesAndHead<Scalar> {
 public:
  static constexpr int kTableHidden = 32, kHeadHidden = 16;

  explicit FactorNet(int features);

  // The values that one batch keeps for its backward pass.
  struct Pass {
    std::vector<Scalar> features;  // of the pieces of all its shards, one shard after the other
    std::vector<Scalar> times;     // [those pieces] w exp(f)
    std::vector<Scalar> sums;      // [shards x PieceAmounts::kCount]: of times, and of the other amounts
    typename DenseStack<Scalar>::Outputs tables, head;
    std::vector<Scalar> logs;     // of `sums`: the head's inputs
    std::vector<Scalar> outputs;  // the logarithm of each shard's time
  };
  void forward(std::span<const Scalar> parameters, const PieceSets<Scalar>& set, std::span<const int> samples,
               Pass& pass) const;
  // Adds to `gradient`; `of_outputs`: the gradient of the outputs.
  void backward(std::span<const Scalar> parameters, const PieceSets<Scalar>& set, std::span<const int> samples,
                const Pass& pass, const std::vector<Scalar>& of_outputs, std::span<Scalar> gradient) const;
};

extern template class FactorNet<float>;
extern template class FactorNet<double>;

}  // namespace shardsim
