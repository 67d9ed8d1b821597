#include "plan/torchrec/search/placements.h"

#include <algorithm>
#include <tuple>

namespace shardsim::torchrec {
namespace {

// Where none is given, or 0, TorchRec's default.
double cache_share(const ShardingOption& option, const TableSpec& spec) {
  const double given = option.load_factor.value_or(spec.sharder_cache_load_factor.value_or(0));
  return given > 0 ? given : kCacheLoadFactor;
}

// The whole table: the ranks share its rows evenly (a block of TorchRec's differs by less than a block).
Placement blank(const ShardingOption& option, const TableSpec& spec, std::size_t table) {
  Placement placement;
  placement.table = static_cast<int>(table);
  placement.strategy = strategy_of(option.type);
  placement.compute_kernel = name_of(option.kernel);
  if (has_cache(placement.compute_kernel)) placement.cache_load_factor = cache_share(option, spec);
  placement.holders = {{}};
  placement.row_end = static_cast<std::uint64_t>(spec.rows);
  placement.column_end = spec.dim;
  return placement;
}

// One placement per column block; `rows` shards each.
void add_blocks(std::vector<Placement>& placements, const ShardingOption& option, const Placement& whole,
                std::span<const int> ranks) {
  std::size_t shard = 0;
  for (const ShardRun& run : option.runs) {
    for (int i = 0; i < run.count; ++i, ++shard) {
      const std::int64_t column = run.col_offset_of(i);
      const bool same_block = in_rows(whole.strategy) && !placements.empty() &&
                              placements.back().table == whole.table && placements.back().column_begin == column;
      if (!same_block) {
        placements.push_back(whole);
        placements.back().column_begin = column;
        placements.back().column_end = column + run.cols;
      }
      placements.back().holders.front().push_back(ranks[shard]);
    }
  }
}

}  // namespace

Strategy strategy_of(ShardingType type) {
  switch (type) {
    case ShardingType::data_parallel:
      return Strategy::data_parallel;
    case ShardingType::column_wise:
      return Strategy::column_wise;
    case ShardingType::table_column_wise:
      return Strategy::table_column_wise;
    case ShardingType::row_wise:
      return Strategy::row_wise;
    case ShardingType::table_row_wise:
      return Strategy::table_row_wise;
    case ShardingType::grid_shard:
      return Strategy::grid_shard;
    case ShardingType::table_wise:
      break;
  }
  return Strategy::table_wise;
}

Plan plan_of(const std::vector<ShardingOption>& options, const Assignment& assignment, const SearchSpace& space,
             const std::vector<std::size_t>& order, std::uint64_t seed) {
  Plan plan;
  plan.hash_seed = seed;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const ShardingOption& option = options[i];
    Placement whole = blank(option, space.table_of(option), order.at(static_cast<std::size_t>(option.table)));
    if (in_columns(whole.strategy)) {
      add_blocks(plan.placements, option, whole, assignment.of(i));
    } else {
      const auto ranks = assignment.of(i);
      whole.holders = {{ranks.begin(), ranks.end()}};
      plan.placements.push_back(std::move(whole));
    }
  }
  std::stable_sort(plan.placements.begin(), plan.placements.end(), [](const Placement& a, const Placement& b) {
    return std::tie(a.table, a.row_begin, a.column_begin) < std::tie(b.table, b.row_begin, b.column_begin);
  });
  return plan;
}

}  // namespace shardsim::torchrec
