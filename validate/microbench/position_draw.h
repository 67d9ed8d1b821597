#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "models/access/access_distribution.h"
#include "validate/execute/kernels/row_law.h"

namespace shardsim {

// Draws popularity positions of a table, each by itself, with their probabilities: the inverse of the prefix sum, over
// stretches of positions that are equally popular. Where popularity falls from row to row, as by Zipf's law, positions
// whose probabilities differ by less than half a percent are taken as equal, and so are those that have a billionth of
// the accesses together.
class PositionDraw {
 public:
  explicit PositionDraw(const AccessDistribution& access);
  std::uint64_t draw(Rng& rng) const { return law().position(rng.uniform()); }

  const std::vector<Stretch>& stretches() const { return stretches_; }
  const std::vector<std::uint32_t>& guides() const { return guides_; }
  double mass() const { return mass_; }
  IdLaw law() const { return {stretches_.data(), guides_.data(), mass_}; }

 private:
  void cut(const AccessDistribution& access, std::uint64_t first, std::uint64_t end);
  void add(const Stretch& stretch);
  void set_guides();

  double mass_;
  std::vector<Stretch> stretches_;
  std::vector<std::uint32_t> guides_;
};

}  // namespace shardsim
