#include <fmt/format.h>

#include <algorithm>

#include "plan/torchrec/bridge/planner_options.h"

namespace shardsim::torchrec {
namespace {

// The values that both lists allow; an empty list allows everything.
template <typename Value>
std::vector<Value> in_both(const std::vector<Value>& own, const std::vector<Value>& other) {
  if (own.empty() || other.empty()) return own.empty() ? other : own;
  std::vector<Value> both;
  std::ranges::copy_if(own, std::back_inserter(both),
                       [&](Value value) { return std::ranges::find(other, value) != other.end(); });
  return both;
}

// TorchRec knows no flex.
std::vector<ShardingType> known_types(const TableConstraint& constraint) {
  std::vector<ShardingType> types = constraint.sharding_types;
  std::erase(types, Strategy::flex);
  return types;
}

std::vector<ComputeKernel> kernels_of(const TableConstraint& constraint) {
  std::vector<ComputeKernel> kernels;
  for (const std::string& name : constraint.compute_kernels) {
    kernels.push_back(parse_compute_kernel(name, constraint.place));
  }
  return kernels;
}

// As both state it; two different values are refused.
template <typename Value>
void take_stated(std::optional<Value>& own, const std::optional<Value>& scenario, const auto& refuse, const char* key) {
  if (!scenario) return;
  refuse(own && *own != *scenario, fmt::format("those of the planner state another {}", key));
  own = scenario;
}

void merge(ConstraintOptions& own, const TableConstraint& scenario, const std::string& table) {
  const auto refuse = [&](bool refused, const std::string& what) {
    if (!refused) return;
    throw input_error(scenario.place, fmt::format("constraints of table '{}': {}", table, what),
                      "Change them, or the planner's own");
  };
  TableConstraints& allowed = own.allowed;
  allowed.sharding_types = in_both(allowed.sharding_types, known_types(scenario));
  refuse(allowed.sharding_types.empty() && !scenario.sharding_types.empty(),
         "they and those of the planner allow no common sharding type");
  allowed.compute_kernels = in_both(allowed.compute_kernels, kernels_of(scenario));
  refuse(allowed.compute_kernels.empty() && !scenario.compute_kernels.empty(),
         "they and those of the planner allow no common compute kernel");
  if (scenario.min_partition) {
    own.min_partition = std::max(own.min_partition.value_or(0), *scenario.min_partition);
  }
  take_stated(own.cache_load_factor, scenario.caches.load_factor, refuse, "cache_load_factor");
  take_stated(own.max_l1_cache_size, scenario.caches.max_l1, refuse, "max_l1_cache_size");
  take_stated(own.l2_cache_size, scenario.caches.l2, refuse, "l2_cache_size");
}

}  // namespace

PlannerOptions with_constraints(PlannerOptions options, const Constraints* constraints, const Workload& workload) {
  if (constraints == nullptr) return options;
  std::map<std::string, ConstraintOptions> merged;
  for (const Table& table : workload.tables) {
    const TableConstraint* const scenario = constraints->of(table.name);
    auto own = options.constraints.find(table.name);
    if (own == options.constraints.end()) own = options.constraints.find("*");
    const bool stated = own != options.constraints.end();
    if (scenario == nullptr && !stated) continue;
    ConstraintOptions& both = merged[table.name];
    if (stated) both = own->second;
    if (scenario == nullptr) continue;
    if (!stated) both.allowed.place = scenario->place;
    merge(both, *scenario, table.name);
  }
  for (auto& [name, constraint] : options.constraints) merged.try_emplace(name, constraint);
  options.constraints = std::move(merged);
  return options;
}

}  // namespace shardsim::torchrec
