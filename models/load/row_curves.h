#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/load/row_law.h"

namespace shardsim {

// The hottest rows of a law one by one: how often each is looked up, and how likely some lookups meet it. That costs a
// power, a logarithm and an exponential for each row, and a model may have hundreds of tables of one kind, whose
// placements ask for the same numbers. So the last few answers are kept; they do not depend on who owns the rows, and
// take a few MB at most.
class RowCurves {
 public:
  using Curve = std::shared_ptr<const std::vector<double>>;  // [position], of the first `rows` or more of them

  Curve probabilities(const RowLaw& law, std::uint64_t rows);
  // Chance of each to be met by `draws` lookups of the placement.
  Curve met(const RowLaw& law, std::uint64_t rows, double draws);

 private:
  struct Kept {
    RowLaw law;
    double draws = 0;  // 0: the probabilities themselves
    Curve curve;
  };
  Curve known(const RowLaw& law, std::uint64_t rows, double draws);
  Curve keep(const RowLaw& law, double draws, std::vector<double> curve);

  std::vector<Kept> kept_;  // the last one asked for in front
};

// Chance that `draws` lookups meet a row with the given share of them.
double chance_to_meet(double share, double draws);

}  // namespace shardsim
