#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "models/access/access_distribution.h"

namespace shardsim {

// Draws popularity positions of a table, each by itself, with their probabilities: the inverse of the prefix sum, found
// from a table of cut points, some 20 ns each where runs of rows are equally popular.
class PositionDraw {
 public:
  explicit PositionDraw(const AccessDistribution& access);
  std::uint64_t draw(Rng& rng) const;

 private:
  const AccessDistribution& access_;
  struct Cut {
    std::uint64_t position = 0;
    double before = 0;  // prefix sum up to it
    double each = 0;    // probability of it and of all up to the next cut; 0: they differ
  };
  std::vector<Cut> cuts_;  // at even steps of the whole mass
};

}  // namespace shardsim
