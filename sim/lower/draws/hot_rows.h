#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "models/load/row_curves.h"
#include "models/load/row_law.h"
#include "models/load/row_owners.h"

namespace shardsim {

// The hottest rows of one placement, and what they bring to its owners in each draw of where they lie
// (sim/lower/draws/row_draws.h). Computed when first asked for: planners ask for the same placements again and again.
class HotRows {
 public:
  // `owners`: in draw 1, 2 ... `curves`: shared by placements of tables of one kind.
  HotRows(const RowLaw& law, int shards, std::function<RowOwners(int draw)> owners, std::shared_ptr<RowCurves> curves);

  double lookups_per_sample() const { return law_.total(); }
  // Expected different rows in so many lookups.
  double different(double lookups) const { return law_.expected_distinct(0, law_.rows(), lookups); }
  // How many of them a draw has to place one by one, so that those behind them add no more than `variance` to the load
  // of an owner, of a placement whose owners look up `bytes` in all; 0 where no row matters. At most kMostPlaced.
  std::uint64_t needed(double bytes, double variance) const;

  // Adds to `load`, [rank], what the `rows` hottest ones bring the owners `ranks` beyond an equal share of `bytes`.
  void add_to(std::vector<double>& load, const std::vector<int>& ranks, double bytes, int draw,
              std::uint64_t rows) const;

  static constexpr std::uint64_t kMostPlaced = 4096;

 private:
  // The excess of the hottest rows, the same in every draw: a power and a division for each of them.
  struct Excess {
    std::vector<double> of_row;  // its share of the lookups beyond that of a row behind them
    double all = 0;
  };
  const Excess& excess_of(std::uint64_t rows) const;
  std::vector<double> more_of(int draw, std::uint64_t rows) const;
  const std::vector<double>& known_more_of(int draw, std::uint64_t rows) const;
  double tail_variance_behind(int doublings) const;

  RowLaw law_;
  int shards_;
  std::function<RowOwners(int draw)> owners_;
  std::shared_ptr<RowCurves> curves_;
  mutable std::vector<double> tail_variances_;      // [n]: behind the first 2^n rows
  mutable std::map<std::uint64_t, Excess> excess_;  // by rows
  using RowsAndDraw = std::pair<std::uint64_t, int>;
  mutable std::map<RowsAndDraw, std::vector<double>> more_;  // of few owners
  // The last owner is kept: lookups, requests and answers of many owners are added one owner after another.
  mutable std::pair<RowsAndDraw, std::vector<double>> last_more_;
};

}  // namespace shardsim
