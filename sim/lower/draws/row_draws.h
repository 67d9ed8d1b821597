#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "sim/lower/lower.h"

namespace shardsim {

// Standard deviation of their loads below which they are as good as one: that of repeated runs of one and the same
// placement (kRepeatScale, study/confidence/faster.h).
inline constexpr double kLeastRowSpread = 0.0073;

// Ranks of the largest world in which every draw is simulated: beyond it, that would take longer than all else that a
// run does.
inline constexpr int kMostTried = 512;

// Where the hot rows of cut tables come to lie is decided by a hash of their ids, and nobody knows before training
// which owners get them. So `kRowDraws` placements are drawn, the same ones whatever tables are called and whatever the
// seed of the scenario is, and each is judged by its load (IterationLoad): lookups of the fullest rank, and what the
// busiest one exchanges. Placed one by one are only as many of the hottest rows as that load is sensitive to.
class RowDraws {
 public:
  // Draws for a plan that has passed check_plan, on a cluster of which the shape alone counts. `options`: whose load
  // and shares count, and whose known shares are used.
  RowDraws(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options);

  // True when anything depends on the draw: rows that are cut by a hash, and looked up unequally often, and whose
  // placement the load does not fix.
  bool any() const { return !loads_.empty(); }
  // [draw] over the median of all draws; empty where any() is false.
  const std::vector<double>& loads() const { return loads_; }
  double spread() const;  // of the loads: their standard deviation, 0 where nothing depends on the draw

  // Draws, for LoweringOptions::row_draw: the one that the load states, else that whose load is nearest to the median,
  // so that as many placements are slower as are faster; of the load that `share` of all draws are below.
  int typical() const;
  // `options` with the rows where they lie: as they say already, as the load fixes it, else as typically drawn.
  LoweringOptions placed(LoweringOptions options) const;

  // As `options` of draw number `draw`, for one question: with no more rows placed one by one than decide the spread.
  static LoweringOptions tried(LoweringOptions options, int draw);

  // [draw] ln of the time of an iteration, over that of the typical draw. `time`, in any unit, is asked for each draw;
  // it lowers with the options of tried().
  // In worlds of more than kMostTried ranks none is asked for: `moved`, which is asked then only, is the share of the
  // typical time in operations whose work follows where rows lie, and is taken to grow in proportion to the load, which
  // is the most that it can. Empty where the loads differ by less than kLeastRowSpread.
  std::vector<double> log_times(const std::function<double(int draw)>& time,
                                const std::function<double()>& moved) const;

 private:
  int world_size_;
  std::optional<int> stated_;
  std::vector<double> loads_;
};

// As RowDraws::placed(), of the draws of this plan.
LoweringOptions with_placed_rows(LoweringOptions options, const Plan& plan, const Workload& workload,
                                 const Cluster& cluster);

}  // namespace shardsim
