#include "models/learned/factor_net.h"

#include <algorithm>
#include <cmath>

namespace shardsim {

FactorShape factor_shape(FeatureLayout layout) {
  const auto features = static_cast<int>(feature_names(layout).size());
  if (layout == FeatureLayout::batches) return {features, 64, PieceAmounts::kCount, 48};
  return {.features = features};
}

template <typename Scalar>
FactorNet<Scalar>::FactorNet(const FactorShape& shape)
    : TablesAndHead<Scalar>(
          {{shape.features, shape.table_hidden, true}, {shape.table_hidden, 1, false}},
          {{static_cast<int>(shape.amounts), shape.head_hidden, true}, {shape.head_hidden, 1, false}}),
      shape_(shape) {}

template <typename Scalar>
void FactorNet<Scalar>::forward(std::span<const Scalar> parameters, const PieceSets<Scalar>& set,
                                std::span<const int> samples, Pass& pass) const {
  const std::size_t kept = shape_.amounts;
  const auto width = static_cast<std::size_t>(set.features);
  pass.features.clear();
  for (const int member : set.members_of(samples)) {
    const Scalar* from = set.pieces.data() + static_cast<std::size_t>(member) * width;
    pass.features.insert(pass.features.end(), from, from + width);
  }
  this->tables().forward(this->of_tables(parameters), pass.features, pass.tables);
  pass.times.clear();
  pass.sums.assign(samples.size() * kept, Scalar(0));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (const int member : set.members_of(samples.subspan(i, 1))) {
      const Scalar* amounts = set.amounts.data() + static_cast<std::size_t>(member) * PieceAmounts::kCount;
      const Scalar factor = std::exp(pass.tables.back()[pass.times.size()]);
      pass.times.push_back(amounts[PieceAmounts::work] * factor);
      pass.sums[i * kept] += pass.times.back();
      for (std::size_t k = 1; k < kept; ++k) pass.sums[i * kept + k] += amounts[k];
    }
  }
  pass.logs.clear();
  for (std::size_t i = 0; i < pass.sums.size(); ++i)
    pass.logs.push_back(static_cast<Scalar>(PieceAmounts::kPowers[i % kept]) * std::log(pass.sums[i]));
  this->head().forward(this->of_head(parameters), pass.logs, pass.head);
  pass.outputs = pass.head.back();
  for (std::size_t i = 0; i < samples.size(); ++i) pass.outputs[i] += pass.logs[i * kept];
}

template <typename Scalar>
void FactorNet<Scalar>::backward(std::span<const Scalar> parameters, const PieceSets<Scalar>& set,
                                 std::span<const int> samples, const Pass& pass, const std::vector<Scalar>& of_outputs,
                                 std::span<Scalar> gradient) const {
  const std::size_t kept = shape_.amounts;
  std::vector<Scalar> of_logs;
  this->head().backward(this->of_head(parameters), pass.logs, pass.head, of_outputs, this->of_head(gradient), &of_logs);
  std::vector<Scalar> of_factors;  // d log(sum) / d f = the table's share of the sum
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Scalar of_log = of_outputs[i] + of_logs[i * kept];
    for (std::size_t m = set.members_of(samples.subspan(i, 1)).size(); m > 0; --m)
      of_factors.push_back(of_log * pass.times[of_factors.size()] / pass.sums[i * kept]);
  }
  this->tables().backward(this->of_tables(parameters), pass.features, pass.tables, std::move(of_factors),
                          this->of_tables(gradient), nullptr);
}

template class FactorNet<float>;
template class FactorNet<double>;

}  // namespace shardsim
