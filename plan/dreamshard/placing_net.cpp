#include "plan/dreamshard/placing_net.h"

#include <utility>

namespace shardsim {

template <typename Scalar>
PlacingNet<Scalar>::PlacingNet(int features)
    : tables_({{features, kTableHidden, true}, {kTableHidden, kVector, true}}),
      costs_({{kCosts, kCostHidden, true}, {kCostHidden, kVector, true}}),
      score_({{2 * kVector, 1, false}}) {}

template <typename Scalar>
template <typename Number>
auto PlacingNet<Scalar>::parts_of(std::span<Number> parameters) const -> Parts<Number> {
  const std::size_t tables = tables_.parameter_count(), costs = costs_.parameter_count();
  return {parameters.first(tables), parameters.subspan(tables, costs), parameters.subspan(tables + costs)};
}

template <typename Scalar>
void PlacingNet<Scalar>::initialise(std::span<Scalar> parameters, Rng& rng) const {
  const auto parts = parts_of(parameters);
  tables_.initialise(parts.tables, rng);
  costs_.initialise(parts.costs, rng);
  score_.initialise(parts.score, rng);
}

template <typename Scalar>
std::vector<Scalar> PlacingNet<Scalar>::vectors(std::span<const Scalar> parameters,
                                                std::span<const Scalar> tables) const {
  Outputs outputs;
  tables_.forward(parts_of(parameters).tables, tables, outputs);
  return std::move(outputs.back());
}

template <typename Scalar>
void PlacingNet<Scalar>::append_inputs(std::span<const Scalar> sums, std::span<const Scalar> costs,
                                       std::vector<Scalar>& inputs) {
  for (std::size_t at = 0; at < sums.size(); at += kVector)
    for (const std::span<const Scalar>& part : {sums, costs}) {
      const std::span<const Scalar> vector = part.subspan(at, kVector);
      inputs.insert(inputs.end(), vector.begin(), vector.end());
    }
}

template <typename Scalar>
std::vector<Scalar> PlacingNet<Scalar>::scores(std::span<const Scalar> parameters, std::span<const Scalar> sums,
                                               std::span<const Scalar> costs) const {
  const auto parts = parts_of(parameters);
  Outputs of_costs, outputs;
  costs_.forward(parts.costs, costs, of_costs);
  std::vector<Scalar> inputs;
  append_inputs(sums, of_costs.back(), inputs);
  score_.forward(parts.score, inputs, outputs);
  return std::move(outputs.back());
}

template <typename Scalar>
void PlacingNet<Scalar>::forward(std::span<const Scalar> parameters, const PlacingEpisodes<Scalar>& episodes,
                                 Pass& pass) const {
  const auto parts = parts_of(parameters);
  tables_.forward(parts.tables, episodes.values, pass.tables);
  costs_.forward(parts.costs, episodes.costs, pass.costs);
  const auto shards = static_cast<std::size_t>(episodes.count * episodes.ranks);
  std::vector<Scalar> sums(shards * kVector, Scalar(0));
  pass.inputs.clear();
  for (std::size_t step = 0; step < static_cast<std::size_t>(episodes.tables); ++step) {
    append_inputs(sums, std::span<const Scalar>(pass.costs.back()).subspan(step * sums.size(), sums.size()),
                  pass.inputs);
    for (int e = 0; e < episodes.count; ++e) {
      const int rank = episodes.rank_of[step * static_cast<std::size_t>(episodes.count) + static_cast<std::size_t>(e)];
      Scalar* const sum = sums.data() + static_cast<std::ptrdiff_t>(e * episodes.ranks + rank) * kVector;
      for (std::size_t k = 0; k < kVector; ++k) sum[k] += pass.tables.back()[step * kVector + k];
    }
  }
  score_.forward(parts.score, pass.inputs, pass.scores);
}

template <typename Scalar>
void PlacingNet<Scalar>::backward(std::span<const Scalar> parameters, const PlacingEpisodes<Scalar>& episodes,
                                  const Pass& pass, std::vector<Scalar> of_scores, std::span<Scalar> gradient) const {
  const auto parts = parts_of(parameters);
  const auto gradients = parts_of(gradient);
  std::vector<Scalar> of_inputs;
  score_.backward(parts.score, pass.inputs, pass.scores, std::move(of_scores), gradients.score, &of_inputs);
  const auto shards = static_cast<std::size_t>(episodes.count * episodes.ranks);
  // A table lies in the sums of all later steps, so these are gone through from the last one on.
  std::vector<Scalar> of_costs(of_inputs.size() / 2), of_sums(shards * kVector, Scalar(0)),
      of_vectors(pass.tables.back().size(), Scalar(0));
  for (auto step = static_cast<std::size_t>(episodes.tables); step-- > 0;) {
    for (int e = 0; e < episodes.count; ++e) {
      const int rank = episodes.rank_of[step * static_cast<std::size_t>(episodes.count) + static_cast<std::size_t>(e)];
      const Scalar* const sum = of_sums.data() + static_cast<std::ptrdiff_t>(e * episodes.ranks + rank) * kVector;
      for (std::size_t k = 0; k < kVector; ++k) of_vectors[step * kVector + k] += sum[k];
    }
    for (std::size_t shard = 0; shard < shards; ++shard) {
      const Scalar* const input = of_inputs.data() + (step * shards + shard) * 2 * kVector;
      for (std::size_t k = 0; k < kVector; ++k) {
        of_sums[shard * kVector + k] += input[k];
        of_costs[(step * shards + shard) * kVector + k] = input[kVector + k];
      }
    }
  }
  costs_.backward(parts.costs, episodes.costs, pass.costs, std::move(of_costs), gradients.costs, nullptr);
  tables_.backward(parts.tables, episodes.values, pass.tables, std::move(of_vectors), gradients.tables, nullptr);
}

template class PlacingNet<float>;
template class PlacingNet<double>;

}  // namespace shardsim
