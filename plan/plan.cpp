#include "plan/plan.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "models/workload/workload.h"

namespace shardsim {

std::string_view strategy_name(Strategy strategy) {
  return kStrategies[static_cast<std::size_t>(strategy)];
}

Strategy parse_strategy(std::string_view name, const Place& place) {
  for (std::size_t i = 0; i < kStrategies.size(); ++i) {
    if (kStrategies[i] == name) return static_cast<Strategy>(i);
  }
  throw input_error(place, "unknown strategy '" + std::string(name) + "'", known_names_hint(name, strategy_names()));
}

Strategy parse_strategy(std::string_view name, const std::string& source) {
  return parse_strategy(name, Place{source});
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names(kStrategies.begin(), kStrategies.end());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> compute_kernels() {
  std::vector<std::string> names(kComputeKernels.begin(), kComputeKernels.end());
  std::ranges::sort(names);
  return names;
}

bool has_cache(std::string_view kernel) {
  return kernel == "fused_uvm_caching" || kernel == "quant_uvm_caching" || in_key_value_store(kernel);
}

bool in_key_value_store(std::string_view kernel) {
  return kernel == "key_value" || kernel.ends_with("_virtual_table");
}

bool in_rows(Strategy strategy) {
  return strategy == Strategy::row_wise || strategy == Strategy::table_row_wise || strategy == Strategy::grid_shard ||
         strategy == Strategy::flex;
}

bool in_columns(Strategy strategy) {
  return strategy == Strategy::column_wise || strategy == Strategy::table_column_wise ||
         strategy == Strategy::grid_shard;
}

bool within_node(Strategy strategy) {
  return strategy == Strategy::table_row_wise || strategy == Strategy::grid_shard ||
         strategy == Strategy::table_column_wise;
}

bool replicated(Strategy strategy) {
  return strategy == Strategy::data_parallel || strategy == Strategy::flex;
}

std::string default_kernel(Strategy strategy) {
  return replicated(strategy) ? "dense" : "fused";
}

int Placement::shards() const {
  if (!in_rows(strategy) || holders.empty() || holders.front().empty()) return 1;
  return static_cast<int>(holders.front().size());
}

std::uint64_t Placement::shard_rows(int shard) const {
  const auto count = static_cast<std::uint64_t>(shards()), place = static_cast<std::uint64_t>(shard);
  const std::uint64_t buckets = (rows() + bucket_rows - 1) / bucket_rows;
  const auto begin = [&](std::uint64_t of) {
    return std::min(rows(), bucket_rows * (of * (buckets / count) + std::min(of, buckets % count)));
  };
  return begin(place + 1) - begin(place);
}

double hbm_share(const Placement& placement) {
  if (replicated(placement.strategy)) return 1;
  if (placement.compute_kernel == "fused_uvm") return 0;
  const bool part = placement.compute_kernel == "fused_uvm_caching" || in_key_value_store(placement.compute_kernel);
  return part ? placement.cache_load_factor : 1;
}

bool on_host(const Placement& placement) {
  return !replicated(placement.strategy) &&
         (placement.compute_kernel.starts_with("fused_uvm") || placement.compute_kernel == "dram_virtual_table");
}

Placement whole_table(int index, const Table& table, Strategy strategy, std::vector<std::vector<int>> holders) {
  Placement placement;
  placement.table = index;
  placement.row_end = table.rows;
  placement.column_end = table.dim;
  placement.strategy = strategy;
  placement.holders = std::move(holders);
  placement.compute_kernel = default_kernel(strategy);
  return placement;
}

int tier_of(const Plan& plan, std::size_t placement) {
  const Placement& of = plan.placements[placement];
  int tier = 0;
  for (std::size_t before = placement; before-- > 0 && plan.placements[before].table == of.table;) {
    const Placement& other = plan.placements[before];
    tier += other.column_begin == of.column_begin && other.row_begin < of.row_begin ? 1 : 0;
  }
  return tier;
}

std::vector<int> all_ranks(int world_size) {
  std::vector<int> ranks(static_cast<std::size_t>(world_size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace shardsim
