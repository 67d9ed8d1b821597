#include "plan/dreamshard/placement_net.h"

#include <algorithm>
#include <utility>

namespace shardsim {

template <typename Scalar>
PlacementNet<Scalar>::PlacementNet(int features)
    : tables_({{features, kTableHidden, true}, {kTableHidden, kVector, true}}),
      head_({{kVector, kHeadHidden, true}, {kHeadHidden, 1, false}}) {}

template <typename Scalar>
void PlacementNet<Scalar>::initialise(std::span<Scalar> parameters, Rng& rng) const {
  tables_.initialise(of_tables(parameters), rng);
  for (std::size_t number = 0; number <= kCosts; ++number) head_.initialise(of_head(parameters, number), rng);
}

template <typename Scalar>
void PlacementNet<Scalar>::take_largest(const PlacementSets<Scalar>& sets, Pass& pass) const {
  pass.largest.clear(), pass.largest_of.clear();
  for (std::size_t placement = 0; placement < sets.placements(); ++placement)
    for (std::size_t k = 0; k < kVector; ++k) {
      std::size_t best = sets.first[placement];
      for (std::size_t shard = best; shard < sets.first[placement + 1]; ++shard)
        if (pass.sums[shard * kVector + k] > pass.sums[best * kVector + k]) best = shard;
      pass.largest.push_back(pass.sums[best * kVector + k]);
      pass.largest_of.push_back(best);
    }
}

template <typename Scalar>
void PlacementNet<Scalar>::forward(std::span<const Scalar> parameters, const PlacementSets<Scalar>& sets,
                                   Pass& pass) const {
  tables_.forward(of_tables(parameters), sets.pieces, pass.tables);
  pass.sums.assign(sets.shards() * kVector, Scalar(0));
  for (std::size_t shard = 0; shard < sets.shards(); ++shard)
    for (std::size_t m = sets.begins[shard]; m < sets.begins[shard + 1]; ++m) {
      const Scalar* const from = pass.tables.back().data() + static_cast<std::ptrdiff_t>(sets.members[m]) * kVector;
      for (std::size_t k = 0; k < kVector; ++k) pass.sums[shard * kVector + k] += from[k];
    }
  for (std::size_t cost = 0; cost < kCosts; ++cost)
    head_.forward(of_head(parameters, cost), pass.sums, pass.costs[cost]);
  take_largest(sets, pass);
  head_.forward(of_head(parameters, kCosts), pass.largest, pass.all);
}

template <typename Scalar>
void PlacementNet<Scalar>::backward(std::span<const Scalar> parameters, const PlacementSets<Scalar>& sets,
                                    const Pass& pass, std::array<std::vector<Scalar>, kCosts> of_costs,
                                    std::vector<Scalar> of_all, std::span<Scalar> gradient) const {
  std::vector<Scalar> of_sums(pass.sums.size(), Scalar(0)), of_inputs;
  for (std::size_t cost = 0; cost < kCosts; ++cost) {
    head_.backward(of_head(parameters, cost), pass.sums, pass.costs[cost], std::move(of_costs[cost]),
                   of_head(gradient, cost), &of_inputs);
    for (std::size_t i = 0; i < of_sums.size(); ++i) of_sums[i] += of_inputs[i];
  }
  head_.backward(of_head(parameters, kCosts), pass.largest, pass.all, std::move(of_all), of_head(gradient, kCosts),
                 &of_inputs);
  for (std::size_t i = 0; i < of_inputs.size(); ++i)
    of_sums[pass.largest_of[i] * kVector + i % kVector] += of_inputs[i];
  std::vector<Scalar> of_vectors(pass.tables.back().size(), Scalar(0));
  for (std::size_t shard = 0; shard < sets.shards(); ++shard)
    for (std::size_t m = sets.begins[shard]; m < sets.begins[shard + 1]; ++m) {
      Scalar* const to = of_vectors.data() + static_cast<std::ptrdiff_t>(sets.members[m]) * kVector;
      for (std::size_t k = 0; k < kVector; ++k) to[k] += of_sums[shard * kVector + k];
    }
  tables_.backward(of_tables(parameters), sets.pieces, pass.tables, std::move(of_vectors), of_tables(gradient),
                   nullptr);
}

template <typename Scalar>
std::vector<Scalar> PlacementNet<Scalar>::vectors(std::span<const Scalar> parameters,
                                                  std::span<const Scalar> tables) const {
  Outputs outputs;
  tables_.forward(of_tables(parameters), tables, outputs);
  return std::move(outputs.back());
}

template <typename Scalar>
std::vector<Scalar> PlacementNet<Scalar>::shard_costs(std::span<const Scalar> parameters,
                                                      std::span<const Scalar> sums) const {
  std::vector<Scalar> costs(sums.size() / kVector * kCosts);
  Outputs outputs;
  for (std::size_t cost = 0; cost < kCosts; ++cost) {
    head_.forward(of_head(parameters, cost), sums, outputs);
    for (std::size_t shard = 0; shard < outputs.back().size(); ++shard)
      costs[shard * kCosts + cost] = outputs.back()[shard];
  }
  return costs;
}

template <typename Scalar>
Scalar PlacementNet<Scalar>::placement_cost(std::span<const Scalar> parameters, std::span<const Scalar> sums) const {
  std::vector<Scalar> largest(sums.begin(), sums.begin() + kVector);
  for (std::size_t i = 0; i < sums.size(); ++i) largest[i % kVector] = std::max(largest[i % kVector], sums[i]);
  Outputs outputs;
  head_.forward(of_head(parameters, kCosts), largest, outputs);
  return outputs.back().front();
}

template class PlacementNet<float>;
template class PlacementNet<double>;

}  // namespace shardsim
