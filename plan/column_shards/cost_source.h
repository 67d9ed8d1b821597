#pragma once

#include <memory>
#include <optional>

#include "base/tree/map_reader.h"
#include "plan/column_shards/shard_costs.h"

namespace shardsim {

// The option `costs` of planners: closed_form, or {file: costs.h5, provider, device}, costs that were learned.
class CostSource {
 public:
  // Errors (Failure::input): those of LearnedCosts::read; the file must be of the provider and device, where stated.
  explicit CostSource(MapReader& options);

  bool learned() const { return learned_.has_value(); }

  // Errors (Failure::input, at the option): learned from other batches, another optimizer or other weights than the
  // workload's. std::logic_error: a context without load or compute.
  void check(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const;

  std::unique_ptr<ShardCosts> shard_costs(const Workload& workload, const Cluster& cluster,
                                          const PlannerContext& context) const;
  // By the nets where they serve such a cluster; else in closed form, with_inputs as there.
  std::unique_ptr<PlanCosts> plan_costs(const Cluster& cluster, const PlannerContext& context, bool with_inputs) const;

 private:
  void check_setting(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const;
  bool nets_serve(const Cluster& cluster) const;

  std::optional<LearnedCosts> learned_;
  Place place_;
};

}  // namespace shardsim
