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

RowRanks row_ranks(const Workload& workload, const ClusterSpec& cluster) {
  const int world = cluster.nodes * cluster.gpu.count, node = cluster.gpu.count;
  if (!workload.sharding_groups) return {world, node};
  const int size = static_cast<int>(workload.sharding_groups->size);
  if (workload.sharding_groups->consecutive) return {size, std::min(size, node)};
  return {size, std::max(1, size / cluster.nodes)};
}

std::string partial_rows(const Placement& placement, const RowRanks& ranks) {
  using enum Strategy;
  const bool of_node = placement.strategy == table_row_wise || placement.strategy == grid_shard;
  const int needed = of_node ? ranks.node : ranks.world;
  const auto given = placement.holders.front().size();
  if ((!of_node && placement.strategy != row_wise) || needed == 0 || given == static_cast<std::size_t>(needed))
    return "";
  return fmt::format("{} on {} of {} ranks{}", strategy_name(placement.strategy), given, needed,
                     of_node ? " of a node" : "");
}

namespace {

constexpr std::size_t kNamedTables = 3;  // tables

bool has_type(const Placement& placement, const Table& table) {
  const std::vector<Strategy> types = torchrec_types(table.kind);
  return std::ranges::find(types, placement.strategy) != types.end();
}

// Tables, each once, and what is said of them.
struct Beyond {
  std::vector<std::string> tables;
  std::set<std::string> what;

  void add(const std::string& table, const std::string& said) {
    if (tables.empty() || tables.back() != table) tables.push_back(table);
    what.insert(said);
  }
  void tell(std::vector<std::string>& parts, const std::string& of) const {
    if (tables.empty()) return;
    parts.push_back(
        fmt::format("{}{} ({})", of, join({what.begin(), what.end()}, " or "), first_names(tables, kNamedTables)));
  }
};

}  // namespace

bool is_beyond_torchrec(const Placement& placement, const Table& table, const RowRanks& ranks) {
  return is_tier(placement, table) || !has_type(placement, table) || !partial_rows(placement, ranks).empty();
}

std::string beyond_torchrec(const Plan& plan, const Workload& workload, const RowRanks& ranks) {
  if (workload.hugectr_pipeline() || workload.hugectr_rows()) return "";
  Beyond tiers, types, partial;
  for (const Placement& placement : plan.placements) {
    const Table& table = workload.tables[static_cast<std::size_t>(placement.table)];
    if (is_tier(placement, table)) {
      tiers.add(table.name, "tiers of rows");
    } else if (!has_type(placement, table)) {
      types.add(table.name, std::string(strategy_name(placement.strategy)));
    } else if (const std::string rows = partial_rows(placement, ranks); !rows.empty()) {
      partial.add(table.name, rows);
    }
  }
  std::vector<std::string> parts;
  tiers.tell(parts, "");
  types.tell(parts, "sequences that are ");
  partial.tell(parts, "tables that are ");
  return join(parts, ", and ");
}

}  // namespace shardsim
