#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/document/document.h"
#include "plan/torchrec/search/planner_run.h"

namespace shardsim::torchrec {

// The imbalance of a load over ranks (planner/stats.py). The values are first scaled to sum 1.
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

// The figures that TorchRec's planner prints about a run (planner/stats.py). Bytes and milliseconds are not rounded
// yet.

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
  std::vector<int> ranks;                // empty without a plan, as `shards`
  std::vector<ShardExplanation> shards;  // of one size each
};

struct KernelStatistics {
  int count = 0;
  int hardcoded = 0;                 // of these, tables whose constraints list kernels
  double weights = 0;                // bytes of the whole tables
  std::int64_t optimizer_state = 0;  // bytes, as weights
  Storage storage;                   // estimated, with buffers
};

// A figure of the ranks, with those that have it.
struct Spot {
  const char* key = "";    // in JSON
  const char* label = "";  // for people
  double value = 0;        // milliseconds, or whole bytes
  std::vector<int> ranks;
};

struct Tier {
  std::int64_t bytes = 0;
  std::vector<int> positions;  // in the list without the higher tiers, as TorchRec prints them
  std::vector<int> ranks;      // the true ones
};

struct Statistics {
  const RunResult* run = nullptr;
  const RunSettings* settings = nullptr;
  std::vector<std::string> types;     // labels of those in the plan, in order
  std::vector<RankStatistics> ranks;  // empty without a plan, as everything below `kernels`
  std::vector<TableStatistics> tables;
  std::map<std::string, KernelStatistics> kernels;
  std::optional<Imbalance> perf_imbalance, hbm_imbalance, ddr_imbalance;
  Spot total;                // perf of the ranks exactly at the maximum
  std::vector<Spot> maxima;  // the same of each part of Perf
  double mean_total = 0;
  std::vector<Spot> hbm;              // its distribution, with the ranks within 2^20 bytes
  double hbm_most = 0, hbm_mean = 0;  // of it
  double critical_comms = 0, critical_compute = 0;
  std::vector<Tier> tiers;                     // the fullest first
  std::vector<std::size_t> top_perf, top_hbm;  // positions in the plan

  bool newest() const { return settings->estimate.version == PlannerVersion::v2026_08; }
  double share_reserved() const;  // of rank 0's device memory
  Storage usable() const;         // rank 0 without the reserved share
  Storage reserved() const;       // of rank 0
  // Used bytes over what the planner may use of a rank.
  double hbm_share(std::size_t rank) const;
  double ddr_share(std::size_t rank) const;
  double sum_of_maxima() const;
};

// The statistics of a run; a run without tables has no rows. `run` and `settings` must outlive the result.
Statistics statistics_of(const RunResult& run, const RunSettings& settings);

// The figures that TorchRec prints about the ranks and the plan as a whole, 100 columns wide, in words of our own.
// Ranks with equal figures share a line.
std::string statistics_text(const Statistics& statistics);

// The lines of it that answer: the slowest and the fullest rank, beside the others, and what lies where.
std::string summary_text(const Statistics& statistics);

// The same as one JSON object, numbers rounded as they are printed.
std::string statistics_json(const Statistics& statistics);

// The bytes of every table, step by step: an overview, and the steps. Tables that are equal in every figure are one
// entry there; figures are of one of them.
std::string explanation_text(const Statistics& statistics);
// The overview alone, of at most so many entries, those of the most time first; its last row says how many more tables
// there are.
Sheet slowest_tables(const Statistics& statistics, std::size_t most);
std::string explanation_json(const Statistics& statistics);  // a JSON list

}  // namespace shardsim::torchrec
