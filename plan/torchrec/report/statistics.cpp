#include "plan/torchrec/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "plan/torchrec/report/text.h"

namespace shardsim::torchrec {
namespace {

constexpr double kNear = 1 << 20;  // bytes
constexpr std::size_t kTiers = 5;
constexpr std::size_t kTop = 5;

std::vector<std::string> types_of(const std::vector<ShardingOption>& options) {
  std::set<std::string_view> types;
  for (const ShardingOption& option : options) types.insert(option.type_label());
  return {types.begin(), types.end()};
}

TableStatistics table_statistics(const RunResult& run, const ShardingOption& option) {
  TableStatistics result;
  result.option = &option;
  result.table = &run.space.table_of(option);
  for (const ShardRun& shards : option.runs) {
    for (int i = 0; i < shards.count; ++i) result.perf += shards.perf;
  }
  for (std::size_t f = 0; f < result.table->pooling_factors.size(); ++f) {
    const double poolings = result.table->num_poolings.empty() ? 1 : result.table->num_poolings[f];
    result.pooling += result.table->pooling_factors[f];
    result.poolings += poolings;
    result.indices += result.table->pooling_factors[f] * poolings;
  }
  if (in_columns(option.type)) result.column_width = option.runs.front().cols;
  return result;
}

void add_kernels(Statistics& statistics, const std::vector<ShardingOption>& options) {
  for (const ShardingOption& option : options) {
    const TableSpec& table = statistics.run->space.table_of(option);
    const double weights = static_cast<double>(table.rows) * static_cast<double>(table.dim) * table.element_bytes;
    KernelStatistics& kernel = statistics.kernels[std::string(name_of(option.kernel))];
    ++kernel.count;
    kernel.hardcoded += table.kernels_constrained ? 1 : 0;
    kernel.weights += weights;
    kernel.optimizer_state += whole_bytes(weights * optimizer_multiplier(table.optimizer, table.dim));
    kernel.storage += option.total;
  }
}

// Input and output of the rank's shard as the statistics show them.
void add_buffers(RankStatistics& rank, const TableSpec& table, const ShardingOption& option, const ShardRun& run,
                 const BatchLoad& load, const RunSettings& settings) {
  const BufferBytes io =
      buffer_bytes(table, load, option.type, settings.topology, run.rows, run.cols, table.element_bytes);
  rank.input_mb += megabytes(io.input);
  rank.output_mb += megabytes(io.output);
}

void add_option(Statistics& statistics, std::size_t position) {
  const RunResult& run = *statistics.run;
  const ShardingOption& option = run.plan[position];
  const TableSpec& table = run.space.table_of(option);
  const BatchLoad load = batch_load(table, statistics.settings->estimate);
  const auto type =
      std::find(statistics.types.begin(), statistics.types.end(), option.type_label()) - statistics.types.begin();
  const auto ranks = run.assignment.of(position);
  statistics.tables.push_back(table_statistics(run, option));
  statistics.tables.back().ranks.assign(ranks.begin(), ranks.end());
  statistics.tables.back().shards =
      explain(option, table, ranks, statistics.settings->topology, statistics.settings->estimate);
  each_shard(option, ranks, [&](int holder, const ShardRun& shard) {
    RankStatistics& rank = statistics.ranks.at(static_cast<std::size_t>(holder));
    rank.sparse += shard.storage;
    rank.perf += shard.perf;
    ++rank.shards[static_cast<std::size_t>(type)];
    add_buffers(rank, table, option, shard, load, *statistics.settings);
  });
}

void add_ranks(Statistics& statistics) {
  const RunResult& run = *statistics.run;
  statistics.types = types_of(run.plan);
  RankStatistics empty;
  empty.shards.assign(statistics.types.size(), 0);
  statistics.ranks.assign(static_cast<std::size_t>(statistics.settings->topology.world_size), empty);
  for (std::size_t i = 0; i < run.plan.size(); ++i) add_option(statistics, i);
  for (RankStatistics& rank : statistics.ranks) {
    rank.used = rank.sparse;
    if (run.reservation.itemised) (rank.used += run.reservation.dense) += run.reservation.kjt;
  }
}

template <typename Of>
std::vector<double> by_rank(const Statistics& statistics, Of of) {
  std::vector<double> values;
  for (const RankStatistics& rank : statistics.ranks) values.push_back(static_cast<double>(of(rank)));
  return values;
}

std::optional<Imbalance> imbalance_of(const std::vector<double>& values) {
  if (std::accumulate(values.begin(), values.end(), 0.0) <= 0) return std::nullopt;
  return imbalance(values);
}

std::vector<int> ranks_at(const std::vector<double>& values, double value) {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == value) ranks.push_back(static_cast<int>(i));
  }
  return ranks;
}

Spot maximum_of(const std::vector<double>& values, const char* key, const char* label) {
  const double most = *std::ranges::max_element(values);
  return {key, label, most, ranks_at(values, most)};
}

bool near_to(double value, double other) {
  return std::abs(value - other) <= std::max(kNear, 1e-9 * std::max(value, other));
}

void add_near(Statistics& statistics, const char* key, const char* label, const std::vector<double>& values,
              double value) {
  Spot spot{key, label, std::nearbyint(value), {}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (near_to(values[i], spot.value)) spot.ranks.push_back(static_cast<int>(i));
  }
  statistics.hbm.push_back(std::move(spot));
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void add_maxima(Statistics& statistics) {
  const auto total = by_rank(statistics, [](const auto& rank) { return rank.perf.total(); });
  statistics.total = maximum_of(total, "total", "maximum of total perf");
  statistics.mean_total = mean_of(total);
  const auto add = [&](double Perf::*part, const char* key, const char* label) {
    const auto of_part = by_rank(statistics, [part](const auto& rank) { return rank.perf.*part; });
    statistics.maxima.push_back(maximum_of(of_part, key, label));
    return statistics.maxima.back().value;
  };
  statistics.critical_compute = add(&Perf::fwd_compute, "fwd_compute", "maximum of forward compute");
  add(&Perf::fwd_comms, "fwd_comms", "maximum of forward comms");
  statistics.critical_compute += add(&Perf::bwd_compute, "bwd_compute", "maximum of backward compute");
  add(&Perf::bwd_comms, "bwd_comms", "maximum of backward comms");
  add(&Perf::prefetch_compute, "prefetch_compute", "maximum of prefetch compute");
  statistics.perf_imbalance = imbalance_of(total);
}

void add_distribution(Statistics& statistics) {
  const auto sparse = by_rank(statistics, [](const auto& rank) { return rank.sparse.hbm; });
  const auto used = by_rank(statistics, [](const auto& rank) { return rank.used.hbm; });
  auto sorted = used;
  std::ranges::sort(sorted);
  statistics.hbm_most = sorted.back();
  statistics.hbm_mean = std::nearbyint(mean_of(used));
  const auto [least, most] = std::ranges::minmax(sparse);
  add_near(statistics, "sparse_max_hbm", "sparse only: most HBM", sparse, most);
  add_near(statistics, "sparse_min_hbm", "sparse only: least HBM", sparse, least);
  add_near(statistics, "max_hbm", "most HBM", used, sorted.back());
  add_near(statistics, "min_hbm", "least HBM", used, sorted.front());
  add_near(statistics, "mean_hbm", "mean HBM", used, mean_of(used));
  add_near(statistics, "low_median_hbm", "low median of HBM", used, sorted[(sorted.size() - 1) / 2]);
  add_near(statistics, "high_median_hbm", "high median of HBM", used, sorted[sorted.size() / 2]);
  statistics.hbm_imbalance = imbalance_of(used);
  statistics.ddr_imbalance = imbalance_of(by_rank(statistics, [](const auto& rank) { return rank.used.ddr; }));
}

// The slowest rank of every group of collectives (module, type, direction), added up.
void add_critical_path(Statistics& statistics) {
  using Group = std::tuple<std::string, ShardingType, bool>;
  std::map<Group, std::vector<double>> groups;
  const auto world = static_cast<std::size_t>(statistics.settings->topology.world_size);
  for (const TableStatistics& table : statistics.tables) {
    for (const bool forward : {true, false}) {
      std::vector<double>& comms = groups[{table.table->module, table.option->type, forward}];
      comms.resize(world);
      each_shard(*table.option, table.ranks, [&](int rank, const ShardRun& shard) {
        comms[static_cast<std::size_t>(rank)] += forward ? shard.perf.fwd_comms : shard.perf.bwd_comms;
      });
    }
  }
  for (const auto& [group, comms] : groups) statistics.critical_comms += *std::ranges::max_element(comms);
}

void add_tiers(Statistics& statistics) {
  std::vector<int> left(statistics.ranks.size());
  std::iota(left.begin(), left.end(), 0);
  const auto hbm = [&](int rank) { return statistics.ranks[static_cast<std::size_t>(rank)].used.hbm; };
  while (!left.empty() && statistics.tiers.size() < kTiers) {
    Tier tier;
    for (const int rank : left) tier.bytes = std::max(tier.bytes, hbm(rank));
    std::vector<int> rest;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (near_to(static_cast<double>(hbm(left[i])), static_cast<double>(tier.bytes))) {
        tier.positions.push_back(static_cast<int>(i));
        tier.ranks.push_back(left[i]);
      } else {
        rest.push_back(left[i]);
      }
    }
    left = std::move(rest);
    statistics.tiers.push_back(std::move(tier));
  }
}

// Tables that lie on every rank of `fullest` and could lie elsewhere; largest by `of` first.
template <typename Of>
std::vector<std::size_t> top_tables(const RunResult& run, const std::vector<int>& fullest, Of of) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < run.plan.size(); ++i) {
    const auto ranks = run.assignment.of(i);
    const auto holds = [&](int rank) { return std::ranges::find(ranks, rank) != ranks.end(); };
    if (run.plan[i].partition != PartitionBy::uniform && std::ranges::all_of(fullest, holds)) found.push_back(i);
  }
  const auto first_shard = [&](std::size_t i) { return of(run.plan[i].runs.front()); };
  std::ranges::stable_sort(found, std::ranges::greater(), first_shard);
  found.resize(std::min(found.size(), kTop));
  return found;
}

void add_top_tables(Statistics& statistics) {
  const auto in_use = [](const RankStatistics& rank) {
    return std::ranges::any_of(rank.shards, [](int count) { return count > 0; });
  };
  if (std::ranges::count_if(statistics.ranks, in_use) < 2) return;
  const auto used = by_rank(statistics, [](const auto& rank) { return rank.used.hbm; });
  const RunResult& run = *statistics.run;
  statistics.top_perf =
      top_tables(run, statistics.total.ranks, [](const ShardRun& shard) { return shard.perf.total(); });
  statistics.top_hbm =
      top_tables(run, ranks_at(used, statistics.hbm_most), [](const ShardRun& shard) { return shard.storage.hbm; });
}

}  // namespace

Imbalance imbalance(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  const auto k = static_cast<double>(values.size());
  Imbalance result;
  for (const double value : values) {
    const double share = value / sum;
    const double distance = std::abs(share - 1.0 / k);
    result.total_variation = std::max(result.total_variation, distance);
    result.total_distance += distance;
    result.chi_raw += distance * distance * k;
    if (share > 0) result.kl_raw += share * std::log(k * share);
  }
  const double others = (k - 1) / k;
  result.chi_most = others * others * k + others;
  result.kl_most = std::log(k);
  return result;
}

double Statistics::share_reserved() const {
  return reserved_share(settings->reservation, settings->topology);
}

Storage Statistics::usable() const {
  const Storage& device = settings->topology.devices.front();
  return {static_cast<std::int64_t>((1 - share_reserved()) * static_cast<double>(device.hbm)), device.ddr};
}

Storage Statistics::reserved() const {
  const Storage& device = settings->topology.devices.front();
  return {static_cast<std::int64_t>(share_reserved() * static_cast<double>(device.hbm)), 0};
}

double Statistics::hbm_share(std::size_t rank) const {
  const std::int64_t capacity = settings->topology.devices.at(rank).hbm;
  const double usable_bytes = (1 - share_reserved()) * static_cast<double>(capacity);
  if (settings->topology.device == Device::cpu || usable_bytes == 0) return 0;
  return static_cast<double>(ranks[rank].used.hbm) / usable_bytes;
}

double Statistics::ddr_share(std::size_t rank) const {
  const std::int64_t capacity = settings->topology.devices.at(rank).ddr;
  return capacity == 0 ? 0 : static_cast<double>(ranks[rank].used.ddr) / static_cast<double>(capacity);
}

double Statistics::sum_of_maxima() const {
  double sum = 0;
  for (const Spot& part : maxima) sum += part.value;
  return sum;
}

Statistics statistics_of(const RunResult& run, const RunSettings& settings) {
  Statistics statistics;
  statistics.run = &run;
  statistics.settings = &settings;
  if (!run.found) {
    for (const ShardingOption& option : run.last_proposal) statistics.tables.push_back(table_statistics(run, option));
    add_kernels(statistics, run.last_proposal);
    return statistics;
  }
  if (run.plan.empty()) return statistics;
  add_kernels(statistics, run.plan);
  add_ranks(statistics);
  add_maxima(statistics);
  add_distribution(statistics);
  add_critical_path(statistics);
  add_tiers(statistics);
  add_top_tables(statistics);
  return statistics;
}

}  // namespace shardsim::torchrec
