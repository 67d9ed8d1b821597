#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "models/learned/shard_net.h"
#include "models/learned/table_features.h"
#include "models/learned/tables_and_head.h"

namespace shardsim {

// The numbers of a FactorNet: inputs and hidden numbers of the table's net, amounts and hidden numbers of the head's.
// The defaults are those of the layout `measured`.
struct FactorShape {
  int features = 0, table_hidden = 32;
  std::size_t amounts = 4;  // of PieceAmounts, the first ones
  int head_hidden = 16;
};
// That of a layout which has factors, `measured` or `batches`.
FactorShape factor_shape(FeatureLayout layout);

// A shard's time as its tables' work times factors: table m takes w_m exp(f_m), f_m a net's answer for its features
// (features-32-1), w_m its work; the shard takes their sum times exp(h), h a net's answer (4-16-1) for the logarithms
// of that sum and of the other amounts, summed (PieceAmounts). So a net has to predict only by which factor a lookup is
// slower in one table than in another, which is the same task for shards of 10 us and of 100 ms. The term h accounts
// for tables that displace each other from the caches. Sets hold `amounts`.
template <typename Scalar>
class FactorNet : public TablesAndHead<Scalar> {
 public:
  explicit FactorNet(const FactorShape& shape);
  const FactorShape& shape() const { return shape_; }

  // The values that one batch keeps for its backward pass.
  struct Pass {
    std::vector<Scalar> features;  // of the pieces of all its shards, one shard after the other
    std::vector<Scalar> times;     // [those pieces] w exp(f)
    std::vector<Scalar> sums;      // [shards x shape().amounts]: of times, and of the other amounts
    typename DenseStack<Scalar>::Outputs tables, head;
    std::vector<Scalar> logs;     // of `sums`: the head's inputs
    std::vector<Scalar> outputs;  // the logarithm of each shard's time
  };
  void forward(std::span<const Scalar> parameters, const PieceSets<Scalar>& set, std::span<const int> samples,
               Pass& pass) const;
  // Adds to `gradient`; `of_outputs`: the gradient of the outputs.
  void backward(std::span<const Scalar> parameters, const PieceSets<Scalar>& set, std::span<const int> samples,
                const Pass& pass, const std::vector<Scalar>& of_outputs, std::span<Scalar> gradient) const;

 private:
  FactorShape shape_;
};

extern template class FactorNet<float>;
extern template class FactorNet<double>;

}  // namespace shardsim
