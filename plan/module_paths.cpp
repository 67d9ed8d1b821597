#include "plan/module_paths.h"

#include <fmt/format.h>

#include <set>

namespace shardsim {

std::vector<std::string> module_paths(const Workload& workload) {
  std::set<std::int64_t> dims;
  for (const Table& table : workload.tables) {
    if (table.kind == TableKind::sequence) dims.insert(table.dim);
  }
  std::vector<std::string> paths;
  for (const Table& table : workload.tables) {
    if (table.kind == TableKind::pooled) {
      paths.push_back(workload.pooled_module);
    } else {
      paths.push_back(workload.sequence_module + (dims.size() > 1 ? fmt::format("_{}", table.dim) : ""));
    }
  }
  return paths;
}

std::vector<std::string> module_paths(const Workload& workload, const Plan& plan) {
  std::vector<std::string> paths = module_paths(workload);
  for (const auto& [table, path] : plan.modules) paths.at(static_cast<std::size_t>(table)) = path;
  return paths;
}

}  // namespace shardsim
