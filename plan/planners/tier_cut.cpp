#include "plan/planners/tier_cut.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "plan/planners/steps.h"

namespace shardsim {
namespace {

RowMark difference(RowMark end, const RowMark& begin) {
  for (std::size_t t = 0; t < end.size(); ++t) end[t] -= std::min(end[t], begin[t]);
  return end;
}

// Cuts given as the ends of the first two tiers, in the merged list.
struct TierEnds {
  RowMark dp, flex;
};

TierCut rounded(const TierEnds& ends, std::uint64_t rounding) {
  TierCut cut;
  cut.dp = rounded_down(ends.dp, rounding);
  cut.flex = rounded_down(difference(ends.flex, cut.dp), rounding);
  return cut;
}

class Cutter {
 public:
  Cutter(const CostParameters& cost, const MergedRows& rows, const TierRequest& request)
      : cost_(cost), rows_(rows), request_(request), lowest_(rows.at_least(cost.p_memory())) {}

  RowMark two_tiers() const;
  TierCut paper(bool crossover) const;
  TierCut optimal() const;

 private:
  double memory(const RowMark& dp) const { return extra_bytes(cost_, rows_, {dp, rows_.none()}); }
  bool fits(const TierCut& cut) const { return extra_bytes(cost_, rows_, cut) <= request_.extra_bytes; }
  bool fits(const RowMark& dp) const { return memory(dp) <= request_.extra_bytes; }
  RowMark down(const RowMark& cut) const { return rounded_down(cut, request_.rounding); }

  RowMark grown_from_lowest(double p_end) const;
  RowMark shrunk_to_comm_neutral() const;
  TierEnds priced(std::uint64_t rounding) const;

  const CostParameters& cost_;
  const MergedRows& rows_;
  const TierRequest& request_;
  RowMark lowest_;  // the paper's point A, not rounded
};

// The most DP rows from point A down to probability p_end.
RowMark Cutter::grown_from_lowest(double p_end) const {
  if (!fits(lowest_)) return down(lowest_);
  const RowMark cut = down(rows_.furthest(lowest_, p_end, [&](const RowMark& dp) { return fits(dp); }));
  if (fits(cut)) return cut;
  // Rounding took rows from before A out of some table, and those save memory: measure the rounded cut instead.
  return down(rows_.furthest(lowest_, p_end, [&](const RowMark& dp) { return fits(down(dp)); }));
}

// Point C comes before A: the fewest DP rows from C on. Rounding up, because rows before A save memory.
RowMark Cutter::shrunk_to_comm_neutral() const {
  const RowMark neutral = rows_.at_least(cost_.p_comm());
  if (fits(down(neutral))) return down(neutral);
  RowMark cut = neutral;
  if (!fits(neutral)) {
    cut = rows_.next(rows_.furthest(neutral, cost_.p_memory(), [&](const RowMark& dp) { return !fits(dp); }));
  }
  const RowMark up = rounded_up(cut, request_.rounding, rows_);
  return fits(up) ? up : down(lowest_);
}

RowMark Cutter::two_tiers() const {
  if (!request_.cap_at_comm_neutral) return grown_from_lowest(0);
  if (cost_.p_comm() <= cost_.p_memory()) return grown_from_lowest(cost_.p_comm());
  return shrunk_to_comm_neutral();
}

TierCut Cutter::paper(bool crossover) const {
  TierCut cut{crossover ? grown_from_lowest(cost_.p_crossover()) : down(lowest_), rows_.none()};
  const RowMark end = rows_.furthest(cut.dp, request_.flex_stop, [&](const RowMark& flex_end) {
    return fits(TierCut{cut.dp, difference(flex_end, cut.dp)});
  });
  cut.flex = down(difference(end, cut.dp));
  return cut;
}

struct Thresholds {
  double dp = 0, flex = 0;  // DP from `dp` up, Flex from `flex` to `dp`
};

// The cuts when a byte of memory costs `price` seconds: each row takes the strategy with the least time + price *
// memory. The three costs are straight lines in p, so tiers are intervals of p.
Thresholds thresholds(const CostParameters& cost, double flex_stop, double price) {
  const PlannerBandwidths& rate = cost.bandwidths;
  const double exchange = cost.passes * cost.batch;
  const double saving = price * cost.copies_saved() * cost.batch;
  const double cross = 1 / (cost.per_node * rate.all_reduce_cross);
  const double global = 1 / rate.all_reduce_global;
  double flex_row = std::numeric_limits<double>::infinity();
  if (rate.all_to_all_intra > rate.all_to_all_global) {
    flex_row =
        (cross + price * cost.flex_over_rw()) / (exchange * (1 / rate.all_to_all_global - 1 / rate.all_to_all_intra));
  }
  flex_row = std::max(flex_row, flex_stop);
  const double dp_over_flex = cost.static_multiplier * (1 - 1.0 / cost.per_node);
  const double dp_flex = (global - cross + price * dp_over_flex) / (exchange / rate.all_to_all_intra + saving);
  if (flex_row < dp_flex) return {dp_flex, flex_row};
  const double dp_row = (global + price * cost.dp_over_rw()) / (exchange / rate.all_to_all_global + saving);
  return {dp_row, dp_row};
}

// Lagrange: the smallest price that fits, then what is left goes to the rows that changed tier at that price.
TierEnds Cutter::priced(std::uint64_t rounding) const {
  constexpr double kDearest = 1e6;  // seconds per byte; real prices are near 1e-11
  const auto ends_at = [&](const Thresholds& p) { return TierEnds{rows_.at_least(p.dp), rows_.at_least(p.flex)}; };
  const auto in_budget = [&](const TierEnds& ends) { return fits(rounded(ends, rounding)); };
  const TierEnds free = ends_at(thresholds(cost_, request_.flex_stop, 0));
  if (in_budget(free)) return free;

  const auto at_price = [&](std::uint64_t bits) {
    return thresholds(cost_, request_.flex_stop, std::bit_cast<double>(bits));
  };
  const std::uint64_t dearest = std::bit_cast<std::uint64_t>(kDearest);
  const std::uint64_t low =
      last_that(0, dearest - 1, [&](std::uint64_t bits) { return !in_budget(ends_at(at_price(bits))); });
  TierEnds reached = low + 1 < dearest ? ends_at(at_price(low + 1)) : TierEnds{lowest_, lowest_};
  if (!in_budget(reached)) return reached;
  const Thresholds beyond = at_price(low);
  reached.dp = rows_.furthest(reached.dp, beyond.dp, [&](const RowMark& dp) { return in_budget({dp, reached.flex}); });
  reached.flex = rows_.furthest(reached.flex, beyond.flex, [&](const RowMark& flex) {
    return in_budget({reached.dp, flex});
  });
  return reached;
}

TierCut Cutter::optimal() const {
  const TierCut cut = rounded(priced(1), request_.rounding);
  if (fits(cut)) return cut;
  const TierCut measured = rounded(priced(request_.rounding), request_.rounding);
  return fits(measured) ? measured : TierCut{down(lowest_), rows_.none()};
}

}  // namespace

double extra_bytes(const CostParameters& cost, const MergedRows& rows, const TierCut& cut) {
  RowMark end = cut.dp;
  for (std::size_t t = 0; t < end.size(); ++t) end[t] += cut.flex[t];
  const double dp_bytes = rows.bytes(cut.dp);
  return dp_bytes * cost.dp_over_rw() - cost.copies_saved() * cost.batch * rows.accesses(cut.dp) +
         (rows.bytes(end) - dp_bytes) * cost.flex_over_rw();
}

double smallest_extra_bytes(const CostParameters& cost, const MergedRows& rows, std::uint64_t rounding) {
  const RowMark lowest = rounded_down(rows.at_least(cost.p_memory()), rounding);
  return extra_bytes(cost, rows, {lowest, rows.none()});
}

TierCut tier_cut(const CostParameters& cost, const MergedRows& rows, const TierRequest& request) {
  const Cutter cutter(cost, rows, request);
  if (request.rule == CutRule::two_tiers) return {cutter.two_tiers(), rows.none()};
  if (request.rule == CutRule::optimal) return cutter.optimal();
  return cutter.paper(request.rule == CutRule::crossover);
}

Plan tiered_plan(const TierCut& cut, const Workload& workload, const Cluster& cluster, std::uint64_t seed) {
  Plan plan;
  plan.hash_seed = seed;
  for (std::size_t t = 0; t < workload.tables.size(); ++t) {
    const std::uint64_t dp_end = cut.dp[t];
    const std::uint64_t flex_end = dp_end + cut.flex[t];
    const auto add = [&](Strategy strategy, std::uint64_t begin, std::uint64_t end) {
      if (begin == end) return;
      const bool by_node = strategy == Strategy::flex;
      Placement tier = whole_table(static_cast<int>(t), workload.tables[t], strategy,
                                   by_node ? node_groups(cluster) : world_group(cluster));
      tier.row_begin = begin;
      tier.row_end = end;
      plan.placements.push_back(tier);
    };
    add(Strategy::data_parallel, 0, dp_end);
    add(Strategy::flex, dp_end, flex_end);
    add(Strategy::row_wise, flex_end, workload.tables[t].rows);
  }
  return plan;
}

}  // namespace shardsim
