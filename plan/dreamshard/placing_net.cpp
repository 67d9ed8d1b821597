#include "plan/dreamshard/placing_net.h"

#include <algorithm>
#include <utility>

namespace shardsim {

template <typename Scalar>
PlacingNet<Scalar>::PlacingNet(int features)
    : tables_({{features, kTableHidden, true}, {kTableHidden, kVector, true}}),
      costs_({{kCosts, kCostHidden, true}, {kCostHidden, kVector, true}}),
      score_({{2 * kVector, 1, false}}) {}

template <typename Scalar>
template <typename Number>
PlacingNet<Scalar>::Parts<Number> PlacingNet<Scalar>::parts_of(std::span<Number> parameters) const {
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
void PlacingNet<Scalar>::start(std::span<const Scalar> parameters, const PlacingEpisodes<Scalar>& episodes,
                               Pass& pass) const {
  tables_.forward(parts_of(parameters).tables, episodes.values, pass.tables);
  pass.sums.assign(static_cast<std::size_t>(episodes.count * episodes.ranks) * kVector, Scalar(0));
  pass.inputs.clear();
}

template <typename Scalar>
std::span<const Scalar> PlacingNet<Scalar>::offer(std::span<const Scalar> parameters,
                                                  const PlacingEpisodes<Scalar>& episodes, int step,
                                                  Pass& pass) const {
  const auto parts = parts_of(parameters);
  const auto shards = static_cast<std::size_t>(episodes.count * episodes.ranks);
  const std::span<const Scalar> all(episodes.costs);
  costs_.forward(parts.costs, all.subspan(static_cast<std::size_t>(step) * shards * kCosts, shards * kCosts),
                 pass.costs);
  const std::size_t from = pass.inputs.size();
  for (std::size_t shard = 0; shard < shards; ++shard)
    for (const std::vector<Scalar>* const part : {&pass.sums, &pass.costs.back()}) {
      const auto begin = part->begin() + static_cast<std::ptrdiff_t>(shard * kVector);
      pass.inputs.insert(pass.inputs.end(), begin, begin + kVector);
    }
  score_.forward(parts.score, std::span<const Scalar>(pass.inputs).subspan(from), pass.scores);
  return pass.scores.back();
}

template <typename Scalar>
void PlacingNet<Scalar>::place(const PlacingEpisodes<Scalar>& episodes, int step, Pass& pass) const {
  const Scalar* const vector = pass.tables.back().data() + static_cast<std::ptrdiff_t>(step) * kVector;
  for (int e = 0; e < episodes.count; ++e) {
    const int rank = episodes.rank_of[static_cast<std::size_t>(step * episodes.count + e)];
    Scalar* const sum = pass.sums.data() + static_cast<std::ptrdiff_t>(e * episodes.ranks + rank) * kVector;
    for (int k = 0; k < kVector; ++k) sum[k] += vector[k];
  }
}

template <typename Scalar>
void PlacingNet<Scalar>::finish(std::span<const Scalar> parameters, const PlacingEpisodes<Scalar>& episodes,
                                Pass& pass) const {
  const auto parts = parts_of(parameters);
  costs_.forward(parts.costs, episodes.costs, pass.costs);
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
