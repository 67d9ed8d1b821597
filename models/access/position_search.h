#pragma once

#include <cstdint>
#include <vector>

#include "models/access/access_distribution.h"

namespace shardsim {

// AccessDistribution::position_at for many masses of one interval: the same positions, from narrower searches. Cut
// points at even steps of the mass are searched for beforehand, as many as pay for the number of searches that is
// expected.
class PositionSearch {
 public:
  // For masses of [begin, end] within [0, total]. The distribution must outlive this.
  PositionSearch(const AccessDistribution& access, double begin, double end, std::int64_t searches);

  std::uint64_t position_at(double mass) const;

 private:
  void cut(std::size_t first, std::size_t last);
  double mass_of(std::size_t cut) const { return begin_ + step_ * static_cast<double>(cut); }

  const AccessDistribution& access_;
  double begin_, step_;
  std::vector<std::uint64_t> cuts_;  // the positions at even steps of the mass, both ends included
};

}  // namespace shardsim
