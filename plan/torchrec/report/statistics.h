#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/torchrec/search/planner_run.h"

namespace shardsim::torchrec {

// How uneven a load lies over ranks (planner/stats.py). The values are first scaled to sum 1.
struct Imbalance {
  double total_variation = 0;  // largest distance of a share from 1/k; TorchRec's is a maximum, not half a sum
  double total_distance = 0;   // sum of the distances
  double chi_raw = 0, chi_most = 0;
  double kl_raw = 0, kl_most = 0;

  double chi() const { return chi_most == 0 ? 0 : chi_raw / chi_most; }  // as statistics show it, 0 to 1
  double kl() const { return kl_most == 0 ? 0 : kl_raw / kl_most; }
};

// `values` not empty, not negative, with a sum above 0.
Imbalance imbalance(const std::vector<double>& values);

// What TorchRec's planner prints of a run (planner/stats.py), as numbers. Bytes and milliseconds are not rounded yet.

struct RankStatistics {
  Storage sparse, used;                // of the shards; with the reservations
  Perf perf;                           // summed over its shards
  double input_mb = 0, output_mb = 0;  // output with the table's own element size
  std::vector<int> shards;             // by type of `types`
};

struct TableStatistics {
  const ShardingOption* option = nullptr;
  const TableSpec* table = nullptr;
  Perf perf;  // over all shards
  double pooling = 0, poolings = 0, indices = 0;
  std::optional<std::int64_t> column_width;
  std::vector<int> ranks;  // empty without a plan
};

struct KernelStatistics {
  std::string kernel;
  int count = 0;
  Storage storage;
};

struct Maximum {
  double ms = 0;
  std::vector<int> ranks;  // exactly at the maximum
};

struct NearRanks {
  std::int64_t bytes = 0;
  std::vector<int> ranks;  // within 2^20 bytes
};

struct Tier {
  std::int64_t bytes = 0;
  std::vector<int> positions;  // in the list without the higher tiers, as TorchRec prints them
  std::vector<int> ranks;      // the true ones
};

struct TopTable {
  std::string name;
  std::int64_t hbm = 0;  // of its first shard
  std::vector<int> ranks;
};

struct Statistics {
  const RunResult* run = nullptr;
  const RunSettings* settings = nullptr;
  std::vector<std::string> types;     // labels of those in the plan, in order
  std::vector<RankStatistics> ranks;  // empty without a plan, as everything below `kernels`
  std::vector<TableStatistics> tables;
  std::vector<KernelStatistics> kernels;
  std::optional<Imbalance> perf_imbalance, hbm_imbalance, ddr_imbalance;
  Maximum total, fwd_compute, fwd_comms, bwd_compute, bwd_comms, prefetch_compute;
  double mean_total = 0;
  NearRanks sparse_max, sparse_min, max, min, mean, low_median, high_median;  // of hbm
  double critical_comms = 0, critical_compute = 0;
  std::vector<Tier> tiers;  // the fullest first
  std::vector<TopTable> top_perf, top_hbm;

  Storage usable() const;    // rank 0 without the reserved share
  Storage reserved() const;  // of rank 0
  // Used bytes over what the planner may use of a rank.
  double hbm_share(std::size_t rank) const;
  double ddr_share(std::size_t rank) const;
};

// Of a run without tables: no rows. `run` and `settings` outlive it.
Statistics statistics_of(const RunResult& run, const RunSettings& settings);

// What TorchRec prints of the ranks and of the plan as a whole, 100 columns wide, in words of our own. Ranks with equal
// figures share a line.
std::string statistics_text(const Statistics& statistics);

// The same as one JSON object, numbers rounded as they are printed.
std::string statistics_json(const Statistics& statistics);

// Batch sizes of the table's features ("512 * 2, 256*3"), and whether any table states them.
std::string batches_cell(const TableSpec& table);
bool shows_batches(const Statistics& statistics);

}  // namespace shardsim::torchrec
