#include "plan/torchrec/estimate/sharding_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/rng.h"

namespace shardsim::torchrec {
namespace {

std::uint64_t key_of(const ShardingOption& option) {
  std::uint64_t key = mix(static_cast<std::uint64_t>(option.table), kGolden);
  const double load_factor = option.load_factor.value_or(-1);
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(option.type), static_cast<std::uint64_t>(option.kernel),
        std::bit_cast<std::uint64_t>(load_factor), static_cast<std::uint64_t>(option.shards),
        static_cast<std::uint64_t>(option.total.hbm), static_cast<std::uint64_t>(option.total.ddr)}) {
    key = mix(key ^ mix(part, kGolden), 0);
  }
  return key;
}

}  // namespace

std::string_view ShardingOption::type_name() const {
  return name_of(flex ? Strategy::flex : type);
}

std::string_view ShardingOption::type_label() const {
  return abbreviation(flex ? Strategy::flex : type);
}

void ShardingOption::summarise() {
  double bytes = 0;
  for (const ShardRun& run : runs) {
    bytes += run.count * (static_cast<double>(run.storage.hbm) + static_cast<double>(run.storage.ddr) +
                          static_cast<double>(run.storage.ssd));
  }
  whole_bytes(bytes);  // refuses what the sums below could not hold
  shards = 0;
  total = largest = {};
  depth = sum = 0;
  even_perf = true;
  for (const ShardRun& run : runs) {
    const double ms = run.perf.total();
    shards += run.count;
    total.hbm += run.count * run.storage.hbm;
    total.ddr += run.count * run.storage.ddr;
    total.ssd += run.count * run.storage.ssd;
    largest = {std::max(largest.hbm, run.storage.hbm), std::max(largest.ddr, run.storage.ddr),
               std::max(largest.ssd, run.storage.ssd)};
    depth = std::max(depth, ms);
    for (int i = 0; i < run.count; ++i) sum += ms;
    even_perf = even_perf && run.perf == runs.front().perf;
  }
  key = key_of(*this);
}

std::vector<ShardExplanation> explain(const ShardingOption& option, const TableSpec& table, std::span<const int> ranks,
                                      const Topology& topology, const EstimateSettings& settings) {
  std::vector<ShardExplanation> shards;
  each_shard(option, ranks, [&](int rank, const ShardRun& run) {
    const auto same = [&](const ShardExplanation& other) { return other.rows == run.rows && other.cols == run.cols; };
    auto shard = std::ranges::find_if(shards, same);
    if (shard == shards.end()) shard = shards.insert(shard, {run.rows, run.cols, {}, {}});
    shard->ranks.push_back(rank);
  });
  const BatchLoad load = batch_load(table, settings);
  const TableStorage stored = table_storage(table, option.kernel, topology.device, settings.rules);
  for (ShardExplanation& shard : shards) {
    shard.storage =
        shard_storage(table, stored, option.type, option.kernel, topology, settings, shard.rows, shard.cols, load);
  }
  return shards;
}

// Time first, then storage: where both are at fault TorchRec speaks of the time.
void estimate_shards(ShardingOption& option, const TableSpec& table, const Topology& topology,
                     const EstimateSettings& settings) {
  const BatchLoad load = batch_load(table, settings);
  for (ShardRun& run : option.runs) {
    run.perf = shard_perf(table, load, option.type, option.kernel, topology, settings, run.rows, run.cols);
  }
  const TableStorage stored = table_storage(table, option.kernel, topology.device, settings.rules);
  for (ShardRun& run : option.runs) {
    const ShardStorage storage =
        shard_storage(table, stored, option.type, option.kernel, topology, settings, run.rows, run.cols, load);
    run.input_bytes = storage.input;
    run.output_bytes = storage.output;
    run.storage = storage.total();
  }
  option.summarise();
}

void require_buckets(const TableSpec& table, ShardingType type, const Topology& topology, PlannerVersion version) {
  if (version != PlannerVersion::v2026_08 || type != ShardingType::row_wise || table.num_buckets == 0) return;
  if (table.managed_collision && table.num_buckets % topology.world_size != 0) {
    throw PlannerError(
        PlannerFailure::value_error,
        fmt::format("table '{}': {} buckets of a managed-collision collection do not divide evenly by {} "
                    "ranks",
                    table.name, table.num_buckets, topology.world_size));
  }
  if (table.num_buckets >= topology.world_size) return;
  throw PlannerError(PlannerFailure::value_error,
                     fmt::format("table '{}': {} buckets for {} ranks; each rank needs one", table.name,
                                 table.num_buckets, topology.world_size));
}

ShardingOption estimate_option(const TableSpec& table, int index, ShardingType type, ComputeKernel kernel,
                               const Topology& topology, const EstimateSettings& settings) {
  ShardingOption option;
  option.table = index;
  option.type = type;
  option.kernel = kernel;
  option.partition = partition_by(type);
  option.load_factor = table.cache_load_factor;
  require_buckets(table, type, topology, settings.version);
  option.runs = cut_table(table, type, topology, settings.rules);
  estimate_shards(option, table, topology, settings);
  return option;
}

}  // namespace shardsim::torchrec
