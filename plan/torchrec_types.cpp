#include "plan/torchrec_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"

namespace shardsim {

std::vector<Strategy> torchrec_types(TableKind kind) {
  using enum Strategy;
  if (kind == TableKind::sequence) return {data_parallel, table_wise, column_wise, row_wise};
  return {data_parallel, table_wise, column_wise, table_column_wise, row_wise, table_row_wise, grid_shard};
}

bool is_tier(const Placement& placement, const Table& table) {
  return placement.rows() < table.rows || placement.strategy == Strategy::flex;
}

bool is_beyond_torchrec(const Placement& placement, const Table& table) {
  const std::vector<Strategy> types = torchrec_types(table.kind);
  return is_tier(placement, table) || std::ranges::find(types, placement.strategy) == types.end();
}

namespace {

constexpr std::size_t kNamedTables = 3;  // tables

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (names.empty() || names.back() != name) names.push_back(name);
}

}  // namespace

std::string beyond_torchrec(const Plan& plan, const Workload& workload) {
  if (workload.hugectr_pipeline() || workload.hugectr_rows()) return "";
  std::vector<std::string> tiers, others;
  std::set<std::string> types;
  for (const Placement& placement : plan.placements) {
    const Table& table = workload.tables[static_cast<std::size_t>(placement.table)];
    if (!is_beyond_torchrec(placement, table)) continue;
    const bool tier = is_tier(placement, table);
    add_once(tier ? tiers : others, table.name);
    if (!tier) types.emplace(strategy_name(placement.strategy));
  }
  std::string text = tiers.empty() ? "" : fmt::format("tiers of rows ({})", first_names(tiers, kNamedTables));
  if (others.empty()) return text;
  return text + fmt::format("{}sequences that are {} ({})", text.empty() ? "" : ", and ",
                            join({types.begin(), types.end()}, " or "), first_names(others, kNamedTables));
}

}  // namespace shardsim
