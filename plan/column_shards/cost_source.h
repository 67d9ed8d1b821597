#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/tree/map_reader.h"
#include "plan/column_shards/shard_costs.h"

namespace shardsim {

// The option `costs` of planners: closed_form; {file: costs.h5, provider, device}, costs that were learned; or auto,
// the shipped ones (scenarios/costs/) where they were learned from the case's GPU, kernels, optimizer, types, batch and
// widths, else closed_form.
class CostSource {
 public:
  // Errors (Failure::input): those of LearnedCosts::read; the file must be of the provider and device, where stated.
  explicit CostSource(MapReader& options);

  // Errors (Failure::input, at the option): learned from other batches, another optimizer or other weights than the
  // workload's. std::logic_error: a context without load or compute.
  void check(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const;

  std::unique_ptr<ShardCosts> shard_costs(const Workload& workload, const Cluster& cluster,
                                          const PlannerContext& context) const;
  // By the nets where they serve such a cluster; else in closed form, with_inputs as there.
  std::unique_ptr<PlanCosts> plan_costs(const Cluster& cluster, const PlannerContext& context, bool with_inputs) const;

 private:
  // The shipped costs where they cover the case; null otherwise. `why`, if given: what they do not cover of a case on
  // their GPU with their kernels.
  const LearnedCosts* shipped_for(const Workload& workload, const Cluster& cluster, const PlannerContext& context,
                                  std::string* why = nullptr) const;
  void check_setting(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const;
  bool nets_serve(const Cluster& cluster) const;
  void say_without_nets(const Cluster& cluster, const PlannerContext& context) const;

  std::optional<LearnedCosts> learned_;
  std::map<int, std::string> topology_of_nets_;  // of its exchanges, by ranks
  bool auto_ = true;
  Place place_;
};

}  // namespace shardsim
