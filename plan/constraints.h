#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace shardsim {

// What a scenario allows a planner to do with a table (docs/formats.md, `constraints`).
struct TableConstraint {
  Place place;
  std::vector<Strategy> sharding_types = {};       // one of these; none: any
  std::vector<std::string> compute_kernels = {};   // one of these; none: any
  std::optional<std::int64_t> min_partition = {};  // columns of the narrowest slice
  std::optional<double> cache_load_factor = {};
  std::string device_group = {};  // "" or as TorchRec names it
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

}  // namespace shardsim
