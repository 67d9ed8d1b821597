#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace shardsim {

class Cluster;
class MemoryModel;
struct Table;
struct Tree;
struct Workload;

// What a scenario allows a planner to do with a table (docs/formats/scenario.md, `constraints`).
// What to do instead of a cache for no rows.
inline constexpr const char* kWithoutCache = "the kernel fused_uvm has no cache";

struct TableConstraint {
  Place place;
  std::vector<Strategy> sharding_types = {};       // one of these; none: any
  std::vector<std::string> compute_kernels = {};   // one of these; none: any
  std::optional<std::int64_t> min_partition = {};  // columns of the narrowest slice
  std::optional<double> cache_load_factor = {};
  std::string device_group = {};  // "" for any, else "cpu" or "cuda"
  std::optional<bool> row_tiers = {};

  // Whether rows of the table may be cut into tiers, each placed in its own way, as TorchRec cannot: where it is not
  // said, unless sharding_types list TorchRec's own types alone.
  bool allows_tiers() const;
};

// Whether it is a tier of rows, or in replica groups (flex): what TorchRec has no plan for.
bool is_beyond_torchrec(const Placement& placement, const Table& table);

// By table name; "*" is for the tables that are not named.
struct Constraints {
  std::map<std::string, TableConstraint> by_table;

  // Null where the table may be placed in any way.
  const TableConstraint* of(const std::string& table) const {
    auto found = by_table.find(table);
    if (found == by_table.end()) found = by_table.find("*");
    return found == by_table.end() ? nullptr : &found->second;
  }
};

// The same without what TorchRec has no plan for, for any table. Errors: Failure::input for a table that may only be
// flex.
Constraints torchrec_only(Constraints constraints, const Place& place);

// The scenario's key. Errors: Failure::input with place for unknown keys, types and kernels, empty lists, and a
// cache_load_factor without a kernel that has a cache.
Constraints read_constraints(const Tree& map);

// Refuses tables that the workload does not have, and a device group that is not the cluster's `device`.
void check_constraint_names(const Constraints& constraints, const Workload& workload, const std::string& device);

// Refuses a plan that does not keep the constraints: Failure::input naming `made_by` (who made it), the table and the
// constraint. Of the slices of a table one, the remainder, may be narrower than min_partition.
void check_constraints(const Plan& plan, const Workload& workload, const Constraints& constraints,
                       const std::string& made_by);

// Refuses constraints that leave no plan, as far as that can be told at once: a table that no device has room for as it
// may be placed, or tables that all devices together have no room for. Kernels that are not constrained are taken to
// keep rows in device memory. Failure::infeasible with the tables, the bytes missing, and the smallest change.
void check_constraints_fit(const Constraints& constraints, const Workload& workload, const Cluster& cluster,
                           const MemoryModel& memory);

}  // namespace shardsim
