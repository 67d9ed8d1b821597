#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"

namespace shardsim {

struct RowRanks;

class Cluster;
class MemoryModel;
struct Tree;

// The remedy that messages name for a cache without rows.
inline constexpr const char* kWithoutCache = "the kernel fused_uvm has no cache";

// Sizes of caches that a scenario states.
struct CacheSizes {
  std::optional<double> load_factor;
  std::optional<Bytes> max_l1, l2;  // of key-value stores, as Placement has them

  // Gives a placement whose kernel has a cache the sizes that are stated.
  void put(Placement& placement) const;
  bool operator==(const CacheSizes&) const = default;
};

// The placements of one table that a scenario allows a planner (docs/formats/scenario.md, `constraints`).
struct TableConstraint {
  Place place;
  std::vector<Strategy> sharding_types = {};       // one of these; none: any
  std::vector<std::string> compute_kernels = {};   // one of these; none: any
  std::optional<std::int64_t> min_partition = {};  // columns of the narrowest slice
  CacheSizes caches = {};
  std::string device_group = {};  // "" for any, else "cpu" or "cuda"
  std::optional<bool> row_tiers = {};
  bool torchrec_only = false;  // what TorchRec's module for such tables has, and nothing else (plan/torchrec_types.h)

  // True when the rows of the table may be cut into tiers, each placed in its own way, which TorchRec cannot do. If
  // row_tiers is not stated, they may be unless sharding_types lists only TorchRec's own types.
  bool allows_tiers() const;
  // The types that a table of this kind may have; none: any.
  std::vector<Strategy> types_of(TableKind kind) const;
};

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

// The scenario's key; `torchrec_only` of "*" holds for every table that does not say otherwise. Errors: Failure::input
// with place for unknown keys, types and kernels, empty lists, and sizes of caches without a kernel that has them.
Constraints read_constraints(const Tree& map);

// Refuses tables that the workload does not have, a device group that is not the cluster's `device`, and types that
// torchrec_only leaves nothing of.
void check_constraint_names(const Constraints& constraints, const Workload& workload, const std::string& device);

// Refuses a plan that does not keep the constraints: Failure::input naming `made_by` (who made it), the table and the
// constraint. One slice of a table, the remainder, may be narrower than min_partition. `ranks`: those that must all
// have rows of a table that is cut by rows and torchrec_only (plan/torchrec_types.h).
void check_constraints(const Plan& plan, const Workload& workload, const Constraints& constraints,
                       const RowRanks& ranks, const std::string& made_by);

// Refuses constraints that leave no plan, as far as that can be told at once: a table that no device has room for as it
// may be placed, or tables that all devices together have no room for. Kernels that are not constrained are taken to
// keep rows in device memory. Failure::infeasible with the tables, the bytes missing, and the smallest change.
void check_constraints_fit(const Constraints& constraints, const Workload& workload, const Cluster& cluster,
                           const MemoryModel& memory);

}  // namespace shardsim
