#include "sim/study/load_notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/statistics.h"
#include "plan/memory_model.h"
#include "sim/lower/known_shares.h"

namespace shardsim {
namespace {

constexpr std::int64_t kNarrow = 8;  // columns: slices of fewer are hardly worth a rank

const Table& table_named(const Workload& workload, const std::string& name) {
  return *std::ranges::find(workload.tables, name, &Table::name);
}

// Whether the plan cuts the table in blocks of ids that are sorted by frequency, so that hot rows lie together.
bool hot_blocks(const PreparedCase& prepared, const Table& table) {
  if (table.row_order != RowOrder::popularity) return false;
  return std::ranges::any_of(prepared.plan.placements, [&](const Placement& placement) {
    const Table& here = prepared.item.workload.tables[static_cast<std::size_t>(placement.table)];
    return here.name == table.name && placement.shards() > 1 &&
           cut_of(placement, table, prepared.item.load) == RowCut::blocks;
  });
}

bool in_tiers(const PreparedCase& prepared, const Table& table) {
  return std::ranges::any_of(prepared.plan.placements, [&](const Placement& placement) {
    const Table& here = prepared.item.workload.tables[static_cast<std::size_t>(placement.table)];
    return here.name == table.name && placement.rows() < table.rows;
  });
}

// Bytes per rank of the table as a data-parallel one, by the case's memory model, where all ranks have room for them
// beside the plan; 0 where one has not.
double bytes_as_copies(const Table& table, const PreparedCase& prepared) {
  const Workload& workload = prepared.item.workload;
  const Cluster& cluster = prepared.cluster;
  const auto index = static_cast<int>(&table - workload.tables.data());
  const auto memory = make_memory_model(prepared.item.memory_model);
  const Placement copies = whole_table(index, table, Strategy::data_parallel, {all_ranks(cluster.world_size())});
  const PlacementMemory more = memory->on_ranks(copies, workload, cluster).front();
  const double bytes = more.static_bytes + more.dynamic_bytes;
  const auto held = memory_per_rank(prepared.plan, workload, cluster, *memory);
  return bytes <= static_cast<double>(cluster.memory_per_rank().count - std::ranges::max(held)) ? bytes : 0;
}

// What keeps one rank from serving all lookups of the hot rows, which are `lookups` of the table now. Copies of a whole
// table are all-reduced and applied row by row in each iteration: that pays where it has no more rows than are asked
// for.
std::string head_remedy(const Table& table, double lookups, const PreparedCase& prepared) {
  if (in_tiers(prepared, table))
    return " Replicating more of its most popular rows would help (memory_budget of FlexShard's planners).";
  const std::string tiers = tiers_remedy(prepared.item.workload);
  if (!tiers.empty()) return tiers;
  const double bytes = static_cast<double>(table.rows) <= lookups ? bytes_as_copies(table, prepared) : 0;
  if (bytes > 0) {
    return fmt::format(
        " Replicating table '{}' (data_parallel) may help: it has fewer rows than this rank looks up in it, and every "
        "rank has room for its {}. Simulate it.",
        table.name,
        bytes < 0.1 * kGiB ? fmt::format("{:.2g} MiB", bytes / kMiB) : fmt::format("{:.2g} GiB", bytes / kGiB));
  }
  if (table.dim < 2 * kNarrow) return "";
  return fmt::format(
      " Cutting table '{}' by columns (column_wise) may help: the rank of a slice reads fewer bytes of each row, but "
      "each slice receives all ids of the table. Simulate it.",
      table.name);
}

std::string remedy(const Table& table, double lookups, const PreparedCase& prepared) {
  if (!hot_blocks(prepared, table)) return head_remedy(table, lookups, prepared);
  return fmt::format(
      " The ids of table '{}' are sorted by popularity, so cutting it into blocks puts the hottest rows on one rank. "
      "Cut it modulo instead (load: {{row_cut: modulo}}), or hash the ids (row_order: random).",
      table.name);
}

// Who waits for whom, and through which table.
std::string fullest_rank(const RankLoads& loads) {
  const std::vector<double>& most = loads.tables.front().lookups;
  const auto rank = static_cast<std::size_t>(loads.fullest);
  return fmt::format(
      "Rank {} looks up {:.2f} times as many rows as the mean rank, and the others wait for it. Table '{}' adds most "
      "to it: {:.0f} % of its lookups, {:.2f} times the mean of that table.",
      rank, loads.times_mean(), loads.tables.front().table, 100 * most[rank] / loads.lookups[rank],
      most[rank] / mean(most));
}

std::string hot_row_limit(const HotRow& row, bool of_tier) {
  return fmt::format(
      "Table '{}': its hottest row gets {:.1f} % of the lookups{}, so no cut by rows over {} ranks can bring the "
      "fullest rank below {:.2f} times the mean.",
      row.table, 100 * row.share, of_tier ? " of its tier" : "", row.owners, row.least_times_mean);
}

// "3 has 1.42 times the mean".
std::string fullest_text(const std::vector<double>& of_ranks) {
  const auto most = std::ranges::max_element(of_ranks);
  return fmt::format("rank {} has {:.2f} times the mean", most - of_ranks.begin(), *most / mean(of_ranks));
}

}  // namespace

std::string tiers_remedy(const Workload& workload) {
  const bool tiers =
      std::ranges::all_of(workload.tables, [](const Table& table) { return table.kind == TableKind::sequence; });
  return tiers ? " Replicating its most popular rows would help (flexshard_2tier, flexshard_3tier)." : "";
}

std::vector<std::string> load_notes(const RankLoads& loads, const PreparedCase& prepared) {
  if (!(loads.times_mean() >= 1 + kTellingSkew)) return {};
  const Workload& workload = prepared.item.workload;
  const Table& most = table_named(workload, loads.tables.front().table);
  std::vector<std::string> notes = {fullest_rank(loads)};
  const auto& row = loads.hottest_row;
  const bool limits = row && row->least_times_mean >= 1 + kTellingSkew;
  if (!limits || row->table != most.name || hot_blocks(prepared, most)) {
    notes.back() += remedy(most, loads.tables.front().lookups[static_cast<std::size_t>(loads.fullest)], prepared);
  }
  if (limits) {
    const Table& hot = table_named(workload, row->table);
    notes.push_back(hot_row_limit(*row, in_tiers(prepared, hot)) + head_remedy(hot, row->lookups, prepared));
  }
  return notes;
}

std::string load_statistics(const Program& program) {
  const RankLoads loads = loads_of(program);
  if (!(mean(loads.lookups) > 0)) return "No rank looks up anything.";
  std::string text = fmt::format("Lookups of an iteration: {}", fullest_text(loads.lookups));
  if (loads.times_mean() > 1.005) {
    text += fmt::format("; table '{}' adds most to it", loads.tables.front().table);
  }
  const std::vector<double> ids = ids_received(program);
  text += mean(ids) > 0 ? fmt::format(". Ids received: {}.", fullest_text(ids)) : ". No ids are exchanged.";
  return text;
}

}  // namespace shardsim
