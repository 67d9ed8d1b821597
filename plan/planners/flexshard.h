#pragma once

#include <optional>

#include "plan/planner.h"
#include "plan/tier_cut.h"

namespace shardsim {

// What both FlexShard planners share: their options, the cost parameters of a scenario, and the plan of a cut.
class FlexshardOptions {
 public:
  explicit FlexshardOptions(MapReader& options);  // all options but `cut`

  CutRule rule = CutRule::paper;

  // Every table cut by the equations of the FlexShard paper; `tiers` is 2 or 3. Errors: a pooled table
  // (Failure::input); a budget that no plan meets (Failure::infeasible, with the shortfall and the smallest budget that
  // works).
  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context, int tiers) const;

 private:
  enum class Stop { off, from_bandwidths, probability };
  enum class Rates { constants, simulated, given };

  void read_budget(MapReader& options);
  void read_stop(MapReader& options);
  void read_bandwidths(MapReader& options);
  CostParameters cost(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const;
  double budget(const CostParameters& cost, const MergedRows& rows) const;
  double flex_stop(const CostParameters& cost) const;
  void check_budget(double extra, double smallest, double base) const;

  Place place_;
  std::int64_t budget_bytes_ = 0;
  std::optional<std::int64_t> limit_bytes_;
  Stop stop_ = Stop::from_bandwidths;
  double stop_probability_ = 0;
  bool cap_at_comm_neutral_ = true;
  std::optional<std::int64_t> rounding_;  // absent: the world size
  Rates rates_ = Rates::constants;
  Place rates_place_;
  PlannerBandwidths bandwidths_;
  std::int64_t passes_ = 2;
};

}  // namespace shardsim
