#pragma once

#include <algorithm>
#include <cstdint>

#include "plan/flexshard_equations.h"

namespace shardsim {

// The times whose sum FlexShard's optimal cut minimises, computed apart from the planner.

// Time of the four collectives of a tiered table, seconds per iteration, both directions (equations of Table 3).
struct TierTimes {
  double global_all_to_all = 0, intra_all_to_all = 0, global_all_reduce = 0, cross_all_reduce = 0;
  double sum() const { return global_all_to_all + intra_all_to_all + global_all_reduce + cross_all_reduce; }
};
inline TierTimes tier_times(const CostParameters& cost, const AccessDistribution& rows, double row_bytes,
                            std::uint64_t dp_rows, std::uint64_t flex_rows) {
  const std::uint64_t dp_end = std::min(dp_rows, rows.rows());
  const std::uint64_t flex_end = dp_end + std::min(flex_rows, rows.rows() - dp_end);
  const double exchanged = cost.passes * cost.batch * row_bytes;
  const PlannerBandwidths& rate = cost.bandwidths;
  TierTimes times;
  times.global_all_to_all = exchanged * rows.sum(flex_end, rows.rows()) / rate.all_to_all_global;
  times.intra_all_to_all = exchanged * rows.sum(dp_end, flex_end) / rate.all_to_all_intra;
  times.global_all_reduce = static_cast<double>(dp_end) * row_bytes / rate.all_reduce_global;
  times.cross_all_reduce = static_cast<double>(flex_end - dp_end) / cost.per_node * row_bytes / rate.all_reduce_cross;
  return times;
}

}  // namespace shardsim
