#include "plan/torchrec/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "plan/torchrec/estimate/shard_estimate.h"
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
  result.perf = option.perf_sum();
  for (std::size_t f = 0; f < result.table->pooling_factors.size(); ++f) {
    const double poolings = result.table->num_poolings.empty() ? 1 : result.table->num_poolings[f];
    result.pooling += result.table->pooling_factors[f];
    result.poolings += poolings;
    result.indices += result.table->pooling_factors[f] * poolings;
  }
  if (column_type(option.type)) result.column_width = option.runs.front().cols;
  return result;
}

void add_kernels(Statistics& statistics, const std::vector<ShardingOption>& options) {
  std::map<std::string, KernelStatistics> kernels;
  for (const ShardingOption& option : options) {
    const std::string name(name_of(option.kernel));
    KernelStatistics& kernel = kernels[name];
    kernel.kernel = name;
    ++kernel.count;
    kernel.storage += option.total;
  }
  for (const auto& [name, kernel] : kernels) statistics.kernels.push_back(kernel);
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
  const BatchLoad load = batch_load(table, statistics.settings->estimate.batch_size);
  const auto type =
      std::find(statistics.types.begin(), statistics.types.end(), option.type_label()) - statistics.types.begin();
  const auto ranks = run.assignment.of(position);
  statistics.tables.push_back(table_statistics(run, option));
  statistics.tables.back().ranks.assign(ranks.begin(), ranks.end());
  std::size_t shard = 0;
  for (const ShardRun& shards : option.runs) {
    for (int i = 0; i < shards.count; ++i) {
      RankStatistics& rank = statistics.ranks.at(static_cast<std::size_t>(ranks[shard++]));
      rank.sparse += shards.storage;
      rank.perf += shards.perf;
      ++rank.shards[static_cast<std::size_t>(type)];
      add_buffers(rank, table, option, shards, load, *statistics.settings);
    }
  }
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

Maximum maximum_of(const std::vector<double>& values) {
  const double most = *std::max_element(values.begin(), values.end());
  return {most, ranks_at(values, most)};
}

bool near_to(double value, double other) {
  return std::abs(value - other) <= std::max(kNear, 1e-9 * std::max(value, other));
}

NearRanks near_ranks(const std::vector<double>& values, double value) {
  NearRanks result{static_cast<std::int64_t>(std::nearbyint(value)), {}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (near_to(values[i], static_cast<double>(result.bytes))) result.ranks.push_back(static_cast<int>(i));
  }
  return result;
}

void add_maxima(Statistics& statistics) {
  const auto total = by_rank(statistics, [](const auto& rank) { return rank.perf.total(); });
  statistics.total = maximum_of(total);
  statistics.mean_total = std::accumulate(total.begin(), total.end(), 0.0) / static_cast<double>(total.size());
  const auto part_of = [&](double Perf::*part) {
    return maximum_of(by_rank(statistics, [part](const auto& rank) { return rank.perf.*part; }));
  };
  statistics.fwd_compute = part_of(&Perf::fwd_compute);
  statistics.fwd_comms = part_of(&Perf::fwd_comms);
  statistics.bwd_compute = part_of(&Perf::bwd_compute);
  statistics.bwd_comms = part_of(&Perf::bwd_comms);
  statistics.prefetch_compute = part_of(&Perf::prefetch_compute);
  statistics.perf_imbalance = imbalance_of(total);
}

void add_distribution(Statistics& statistics) {
  const auto sparse = by_rank(statistics, [](const auto& rank) { return rank.sparse.hbm; });
  const auto used = by_rank(statistics, [](const auto& rank) { return rank.used.hbm; });
  auto sorted = used;
  std::sort(sorted.begin(), sorted.end());
  const double mean = std::accumulate(used.begin(), used.end(), 0.0) / static_cast<double>(used.size());
  statistics.sparse_max = near_ranks(sparse, *std::max_element(sparse.begin(), sparse.end()));
  statistics.sparse_min = near_ranks(sparse, *std::min_element(sparse.begin(), sparse.end()));
  statistics.max = near_ranks(used, sorted.back());
  statistics.min = near_ranks(used, sorted.front());
  statistics.mean = near_ranks(used, mean);
  statistics.low_median = near_ranks(used, sorted[(sorted.size() - 1) / 2]);
  statistics.high_median = near_ranks(used, sorted[sorted.size() / 2]);
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
      std::size_t shard = 0;
      for (const ShardRun& run : table.option->runs) {
        for (int i = 0; i < run.count; ++i) {
          comms[static_cast<std::size_t>(table.ranks[shard++])] += forward ? run.perf.fwd_comms : run.perf.bwd_comms;
        }
      }
    }
  }
  for (const auto& [group, comms] : groups) statistics.critical_comms += *std::max_element(comms.begin(), comms.end());
  statistics.critical_compute = statistics.fwd_compute.ms + statistics.bwd_compute.ms;
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
std::vector<TopTable> top_tables(const Statistics& statistics, const std::vector<int>& fullest, Of of) {
  std::vector<const TableStatistics*> found;
  for (const TableStatistics& table : statistics.tables) {
    if (table.option->partition == PartitionBy::uniform) continue;
    const bool on_all = std::all_of(fullest.begin(), fullest.end(), [&](int rank) {
      return std::find(table.ranks.begin(), table.ranks.end(), rank) != table.ranks.end();
    });
    if (on_all) found.push_back(&table);
  }
  std::stable_sort(found.begin(), found.end(), [&](const auto* a, const auto* b) {
    return of(a->option->runs.front()) > of(b->option->runs.front());
  });
  std::vector<TopTable> top;
  for (std::size_t i = 0; i < found.size() && i < kTop; ++i) {
    top.push_back({found[i]->table->name, found[i]->option->runs.front().storage.hbm, found[i]->ranks});
  }
  return top;
}

void add_top_tables(Statistics& statistics) {
  const auto in_use = [](const RankStatistics& rank) {
    return std::any_of(rank.shards.begin(), rank.shards.end(), [](int count) { return count > 0; });
  };
  if (std::count_if(statistics.ranks.begin(), statistics.ranks.end(), in_use) < 2) return;
  const auto used = by_rank(statistics, [](const auto& rank) { return rank.used.hbm; });
  const std::vector<int> fullest = maximum_of(used).ranks;
  statistics.top_perf =
      top_tables(statistics, statistics.total.ranks, [](const ShardRun& run) { return run.perf.total(); });
  statistics.top_hbm = top_tables(statistics, fullest, [](const ShardRun& run) { return run.storage.hbm; });
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

Storage Statistics::usable() const {
  const Storage& device = settings->topology.devices.front();
  return {static_cast<std::int64_t>((1 - settings->reservation.percentage) * static_cast<double>(device.hbm)),
          device.ddr};
}

Storage Statistics::reserved() const {
  const Storage& device = settings->topology.devices.front();
  return {static_cast<std::int64_t>(settings->reservation.percentage * static_cast<double>(device.hbm)), 0};
}

double Statistics::hbm_share(std::size_t rank) const {
  const std::int64_t capacity = settings->topology.devices.at(rank).hbm;
  if (settings->topology.device == Device::cpu || capacity == 0) return 0;
  return static_cast<double>(ranks[rank].used.hbm) /
         ((1 - settings->reservation.percentage) * static_cast<double>(capacity));
}

double Statistics::ddr_share(std::size_t rank) const {
  const std::int64_t capacity = settings->topology.devices.at(rank).ddr;
  return capacity == 0 ? 0 : static_cast<double>(ranks[rank].used.ddr) / static_cast<double>(capacity);
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
