#include "validate/execute/fusion/bags.h"

#include <cmath>

namespace shardsim {
namespace {

// The id at which bag j of `bags` begins: floor(j ids / bags + piece / pieces), in whole numbers.
std::int64_t begin_of(std::int64_t j, std::int64_t ids, std::int64_t bags, int piece, int pieces) {
  const std::int64_t whole = j * ids / bags, rest = j * ids % bags;
  return whole + (rest * pieces + piece * bags >= bags * pieces ? 1 : 0);
}

// Bags of each feature.
std::vector<std::int64_t> bags_of_features(const Program& program, const Table& table) {
  std::vector<double> weights;
  for (const Feature& feature : table.features) weights.push_back(feature.num_poolings);
  return split_by_largest_remainder(bags_per_rank(program, table), weights);
}

}  // namespace

std::int64_t bags_per_rank(const Program& program, const Table& table) {
  double per_sample = 0;
  for (const Feature& feature : table.features) per_sample += feature.num_poolings;
  return static_cast<std::int64_t>(std::floor(static_cast<double>(program.batch_per_rank) * per_sample + 0.5));
}

std::vector<std::int64_t> bag_lengths(const Program& program, const Table& table, std::int64_t ids, int piece,
                                      int pieces) {
  const std::vector<std::int64_t> bags = bags_of_features(program, table);
  std::vector<double> weights;
  for (std::size_t f = 0; f < bags.size(); ++f) {
    weights.push_back(table.features[f].pooling_factor * static_cast<double>(bags[f]));
  }
  const std::vector<std::int64_t> shares = split_by_largest_remainder(ids, weights);
  std::vector<std::int64_t> lengths;
  for (std::size_t f = 0; f < bags.size(); ++f) {
    for (std::int64_t j = 0; j < bags[f]; ++j) {
      lengths.push_back(begin_of(j + 1, shares[f], bags[f], piece, pieces) -
                        begin_of(j, shares[f], bags[f], piece, pieces));
    }
  }
  return lengths;
}

}  // namespace shardsim
