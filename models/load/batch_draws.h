#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/load/length_law.h"

namespace shardsim {

// Ranks above which batches are not drawn: what they exchange are matrices with a number for each pair.
inline constexpr int kMostDrawnRanks = 1024;

// A feature of a table, as its batches are drawn.
struct BagFeature {
  double mean = 0;        // ids of a bag: its pooling factor
  std::int64_t bags = 0;  // of one rank's batch; with `common` lengths one per sample
};

// Drawn batches of one table: how many ids each feature has on each rank in each iteration, and which cell of the
// table, an owner of a placement, each of them goes to. The draws depend on the table, the seed and the batch alone.
class BatchDraws {
 public:
  // `ids`: those of one rank as expected, which lengths of the family `fixed` keep, split over the features. `world`:
  // ranks; more than 1,024 are refused, since their exchanges would be dense matrices. Errors (Failure::input at
  // `place`) as of LengthLaw.
  BatchDraws(std::string table, std::uint64_t seed, int world, const LengthSpec& spec,
             const std::vector<BagFeature>& features, std::int64_t ids, const Place& place = {});

  std::size_t features() const { return features_.size(); }

  // n_(f,s). `factors`: those of the rank's samples, only for `common` lengths. If lengths are common and no factors
  // are given, every factor is 1, which gives the same distribution as lengths that are not common.
  std::int64_t ids(std::size_t feature, std::int64_t iteration, int rank, const FactorSums* factors = nullptr) const;

  // Returns how many of the `ids` ids of a feature and rank go to each cell. `shares` of the cells, in the order of the
  // plan's placements and their owners: (share of the placement) x (share of the owner); their sum is above 0.
  std::vector<std::int64_t> cells(std::size_t feature, std::int64_t iteration, int rank, std::int64_t ids,
                                  const std::vector<double>& shares) const;

 private:
  UniformStream stream(std::uint64_t use, std::size_t feature, std::int64_t iteration, int rank) const;

  std::string table_;
  std::uint64_t seed_;
  int world_;
  bool fixed_, common_;
  std::vector<BagFeature> features_;
  std::vector<LengthLaw> laws_;
  std::vector<std::int64_t> fixed_ids_;  // per feature
};

// Different rows that `lookups` drawn ids of an owner meet: t (c / c_j)^h, where `distinct` and `expected_lookups` are
// t_j and c_j of the expected batch, `distinct_of_more` is t_j of a tenth more ids, and h is the elasticity between the
// two. Off by 0.4 % where lookups are within 10 % of the expected ones, 1.2 % within 20 %.
double drawn_distinct(double distinct, double distinct_of_more, double expected_lookups, double lookups);
inline constexpr double kMoreIds = 1.1;

}  // namespace shardsim
