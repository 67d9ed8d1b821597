#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/torchrec/estimate/imbalance.h"
#include "plan/torchrec/search/planner_run.h"

namespace shardsim::torchrec {

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
};

// Of a run without tables: no rows. `run` and `settings` outlive it.
Statistics statistics_of(const RunResult& run, const RunSettings& settings);

}  // namespace shardsim::torchrec
