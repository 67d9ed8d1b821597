#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/torchrec/estimate/sharding_option.h"
#include "plan/torchrec/spec/names.h"

namespace shardsim::torchrec {
namespace {

constexpr std::int64_t kLeastColumns = 128;

void require_rows(const TableSpec& table) {
  if (table.rows > 0 && table.dim > 0) return;
  throw PlannerError(PlannerFailure::value_error, fmt::format("table '{}' has no rows or no columns", table.name));
}

ShardRun rows_run(std::int64_t cols, int count, std::int64_t rows, std::int64_t offset) {
  ShardRun run;
  run.count = count;
  run.rows = rows;
  run.cols = cols;
  run.row_offset = offset;
  run.row_step = rows;
  return run;
}

// Units of rows (buckets, or single rows) per rank, as runs.
std::vector<ShardRun> from_units(const TableSpec& table, const std::vector<std::int64_t>& units,
                                 std::int64_t unit_rows) {
  std::vector<ShardRun> runs;
  std::int64_t offset = 0;
  for (const std::int64_t count : units) {
    const std::int64_t rows = count * unit_rows;
    if (!runs.empty() && runs.back().rows == rows) {
      ++runs.back().count;
    } else {
      runs.push_back(rows_run(table.dim, 1, rows, offset));
    }
    offset += rows;
  }
  return runs;
}

std::int64_t bucket_rows(const TableSpec& table) {
  if (table.rows % table.num_buckets == 0) return table.rows / table.num_buckets;
  throw PlannerError(PlannerFailure::assertion_error, fmt::format("table '{}': {} rows do not divide into {} buckets",
                                                                  table.name, table.rows, table.num_buckets));
}

std::int64_t capacity_of(const Topology& topology, std::size_t rank) {
  const Storage& device = topology.devices.at(rank);
  return topology.device == Device::cpu ? device.ddr : device.hbm;
}

// Shares of `units` by capacity, cut to whole units; the last rank takes the rest.
std::vector<std::int64_t> by_capacity(const Topology& topology, std::int64_t units) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < topology.devices.size(); ++i) sum += capacity_of(topology, i);
  std::vector<std::int64_t> shares;
  std::int64_t left = units;
  for (std::size_t i = 0; i + 1 < topology.devices.size(); ++i) {
    const double share = static_cast<double>(capacity_of(topology, i)) / static_cast<double>(sum);
    shares.push_back(static_cast<std::int64_t>(static_cast<double>(units) * share));
    left -= shares.back();
  }
  shares.push_back(left);
  return shares;
}

std::vector<std::int64_t> even_units(std::int64_t units, int n) {
  std::vector<std::int64_t> shares(static_cast<std::size_t>(n), units / n);
  for (std::int64_t i = 0; i < units % n; ++i) ++shares[static_cast<std::size_t>(i)];
  return shares;
}

std::vector<ShardRun> row_wise(const TableSpec& table, const Topology& topology, const Rules& rules) {
  const int n = topology.world_size;
  const bool buckets = table.num_buckets > 0 && !table.managed_collision;
  const std::int64_t unit_rows = buckets ? bucket_rows(table) : 1;
  const std::int64_t units = buckets ? table.num_buckets : table.rows;
  if (topology.uneven) return from_units(table, by_capacity(topology, units), unit_rows);
  if (buckets) return from_units(table, even_units(units, n), unit_rows);
  if (rules.rw_rows) return {rows_run(table.dim, n, table.rows / n, 0)};
  return even_rows(table.rows, table.dim, n);
}

std::vector<ShardRun> columns(const TableSpec& table) {
  const std::int64_t width = column_block(table.dim, table.min_partition);
  ShardRun run = rows_run(table.dim, static_cast<int>(table.dim / width), table.rows, 0);
  run.row_step = 0;
  run.cols = run.col_step = width;
  return {run};
}

std::vector<ShardRun> grid(const TableSpec& table, int ranks_of_group) {
  const std::int64_t width = column_block(table.dim, table.min_partition);
  const std::vector<ShardRun> rows = even_rows(table.rows, table.dim, ranks_of_group);
  std::vector<ShardRun> runs;
  for (std::int64_t column = 0; column < table.dim; column += width) {
    for (ShardRun run : rows) {
      run.cols = width;
      run.col_offset = column;
      runs.push_back(run);
    }
  }
  return runs;
}

std::vector<ShardRun> whole(const TableSpec& table, int copies) {
  ShardRun run = rows_run(table.dim, copies, table.rows, 0);
  run.row_step = 0;
  return {run};
}

}  // namespace

std::vector<ShardRun> even_rows(std::int64_t rows, std::int64_t cols, int count) {
  const std::int64_t block = (rows + count - 1) / count;
  const int full = static_cast<int>(std::min<std::int64_t>(rows / block, count));
  const std::int64_t rest = rows - block * full;
  std::vector<ShardRun> runs = {rows_run(cols, full, block, 0)};
  int done = full;
  if (done < count && rest > 0) {
    runs.push_back(rows_run(cols, 1, rest, block * full));
    ++done;
  }
  if (done < count) runs.push_back(rows_run(cols, count - done, 0, rows));
  return runs;
}

std::int64_t column_block(std::int64_t columns, std::int64_t least) {
  if (least <= 0) least = kLeastColumns;
  for (std::int64_t blocks = columns / least; blocks > 1; --blocks) {
    if (columns % blocks == 0 && columns / blocks % 4 == 0) return columns / blocks;
  }
  return columns;
}

std::vector<ShardRun> cut_table(const TableSpec& table, ShardingType type, const Topology& topology,
                                const Rules& rules) {
  require_rows(table);
  switch (type) {
    case ShardingType::data_parallel:
      return whole(table, topology.world_size);
    case ShardingType::table_wise:
      return whole(table, 1);
    case ShardingType::column_wise:
    case ShardingType::table_column_wise:
      return columns(table);
    case ShardingType::row_wise:
      return row_wise(table, topology, rules);
    case ShardingType::table_row_wise:
      return even_rows(table.rows, table.dim, topology.group_size());
    default:
      break;
  }
  return grid(table, topology.group_size());
}

}  // namespace shardsim::torchrec
