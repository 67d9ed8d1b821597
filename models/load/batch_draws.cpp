#include "models/load/batch_draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/largest_remainder.h"

namespace shardsim {
namespace {

std::vector<std::int64_t> split_over(const std::vector<BagFeature>& features, std::int64_t ids) {
  std::vector<double> weights;
  for (const BagFeature& feature : features) weights.push_back(feature.mean * static_cast<double>(feature.bags));
  return split_by_largest_remainder(ids, weights);
}

}  // namespace

BatchDraws::BatchDraws(std::string table, std::uint64_t seed, int world, const LengthSpec& spec,
                       const std::vector<BagFeature>& features, std::int64_t ids, const Place& place)
    : table_(std::move(table)),
      seed_(seed),
      world_(world),
      fixed_(spec.family == "fixed"),
      common_(spec.common),
      features_(features),
      fixed_ids_(split_over(features, ids)) {
  if (world > kMostDrawnRanks)
    throw input_error(place, fmt::format("batches cannot be drawn for {} ranks", world),
                      fmt::format("Write load.batches: expected for more than {} ranks", kMostDrawnRanks));
  for (const BagFeature& feature : features_) laws_.emplace_back(spec, feature.mean, place);
}

UniformStream BatchDraws::stream(std::uint64_t use, std::size_t feature, std::int64_t iteration, int rank) const {
  return {table_, seed_, use + feature, {iteration, rank, world_}};
}

std::int64_t BatchDraws::ids(std::size_t feature, std::int64_t iteration, int rank, const FactorSums* factors) const {
  const bool stretched = common_ && factors != nullptr;
  if (fixed_ && !stretched) return fixed_ids_[feature];
  const UniformStream u = stream(kLengthDraws, feature, iteration, rank);
  return stretched ? laws_[feature].total(*factors, u) : laws_[feature].total(features_[feature].bags, u);
}

std::vector<std::int64_t> BatchDraws::cells(std::size_t feature, std::int64_t iteration, int rank, std::int64_t ids,
                                            const std::vector<double>& shares) const {
  return draw_multinomial(stream(kOwnerDraws, feature, iteration, rank), ids, shares);
}

double drawn_distinct(double distinct, double distinct_of_more, double expected_lookups, double lookups) {
  if (!(lookups > 0) || !(distinct > 0) || !(expected_lookups > 0)) return 0;
  const double elasticity = std::log(distinct_of_more / distinct) / std::log(kMoreIds);
  return std::min(lookups, distinct * std::pow(lookups / expected_lookups, elasticity));
}

}  // namespace shardsim
