#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "models/load/row_law.h"

namespace shardsim {

// Placements of one law ask again and again, whoever owns the rows, how often each of the hottest ones is looked up,
// and how likely some lookups meet it, which costs a power, a logarithm and an exponential for each row. A model may
// have hundreds of tables of one kind, and dozens of draws of where its rows lie (sim/lower/draws/row_draws.h). So the
// laws that were asked for last are kept, as long as their curves take some 30 MB together.
class RowCurves {
 public:
  using Curve = std::shared_ptr<const std::vector<double>>;  // [position], of the first `rows` or more of them

  Curve probabilities(const RowLaw& law, std::uint64_t rows);
  // Chance of each to be met by `draws` lookups of the placement.
  Curve met(const RowLaw& law, std::uint64_t rows, double draws);
  // Different rows from position `first` on that `draws` lookups of the placement meet.
  double met_behind(const RowLaw& law, std::uint64_t first, double draws);
  // How many rows to place one by one, as `count` says, for placements with these `owners` and at most `most`.
  std::uint64_t head(const RowLaw& law, int owners, std::uint64_t most, const std::function<std::uint64_t()>& count);

 private:
  struct Kept {
    RowLaw law;
    std::vector<std::pair<double, Curve>> curves{};  // by draws; 0: the probabilities themselves
    std::map<std::pair<std::uint64_t, double>, double> behind{};
    std::map<std::pair<int, std::uint64_t>, std::uint64_t> heads{};
  };
  Kept& of(const RowLaw& law);
  Curve known(const RowLaw& law, std::uint64_t rows, double draws);
  Curve keep(const RowLaw& law, double draws, std::vector<double> curve);

  std::list<Kept> kept_;     // the last one asked for in front
  std::size_t numbers_ = 0;  // of all curves together
};

// Chance that `draws` lookups meet a row with the given share of them.
double chance_to_meet(double share, double draws);

}  // namespace shardsim
