#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "plan/torchrec/spec/hardware.h"
#include "plan/torchrec/spec/names.h"

namespace shardsim::torchrec {

// Where the TorchRec sharding-stats guide (2026-02-18) states another rule than the code, in which both versions agree.
// False: as the code; true: as the guide.
struct Rules {
  bool rw_rows = false;              // every rank floor(rows / ranks) rows; for estimates only: some rows find no place
  bool ec_metadata_bytes = false;    // 4 bytes per row more in tables of sequence collections
  bool prefetch_truncation = false;  // the prefetch term of the pipeline not cut to whole bytes
  bool cache_aux = false;            // cache auxiliary bytes for fused_uvm_caching alone
  bool dense_reservation = false;    // (parameters - embeddings) x multiplier + buffers

  bool operator==(const Rules&) const = default;
  static constexpr Rules guide() { return {true, true, true, true, true}; }
};

// Bytes per element on the wire, forward and backward.
struct WireBytes {
  double forward = 0, backward = 0;
};

// Known statistics of a cached table's accesses.
struct CacheStatistics {
  double expected_lookups = 0;  // per global batch
  double cacheability = 0;
  std::function<double(double)> miss_rate;  // share of lookups that miss, by load factor
};

// One embedding table as the planner's estimators see it: its own properties, those of the module and sharder that hold
// it, and what a user's constraints say of it.
struct TableSpec {
  std::string name;
  std::string module = "ebc";  // path of the module that holds it
  std::string dependency;      // of towers: options of one dependency are placed together
  std::int64_t rows = 0, dim = 0;
  double element_bytes = 4;
  std::vector<double> pooling_factors = {1.0};      // one per feature
  std::vector<double> num_poolings;                 // one per feature; empty: 1 each
  std::vector<double> batch_sizes;                  // one per feature; empty: the planner's batch size
  std::int64_t min_partition = 0;                   // narrowest column shard; 0: 128
  std::optional<double> cache_load_factor;          // the table's own
  std::optional<double> sharder_cache_load_factor;  // used where the table has none
  std::optional<double> prefetch_passes;
  std::optional<double> output_element_bytes;  // of constraints.output_dtype
  std::optional<CacheStatistics> cache_statistics;
  std::optional<WireBytes> all_to_all, reduce_scatter, sequence_all_to_all;  // quantised communication
  double max_l1_cache_mb = 0;      // of key-value kernels, in units of 2^20 bytes
  Bytes l2_cache{};                // of these in host memory, which no estimate counts
  std::int64_t num_buckets = 0;    // 0: no buckets
  bool managed_collision = false;  // of a managed-collision collection, which shares buckets out evenly or not at all
  Optimizer optimizer = Optimizer::none;
  bool pooled = true;
  bool weighted = false;
  bool whole_pooling_factors = false;  // given as whole numbers: statistics print them so
  bool whole_num_poolings = false;
  bool prefetch_pipeline = false;
  bool use_virtual_table = false;
  // The table belongs to a FeatureProcessedEmbeddingBagCollection, whose tables are cut by rows only where constraints
  // ask for it.
  bool feature_processed = false;
  bool kernels_constrained = false;  // a constraint lists compute kernels; statistics count such tables

  // A table that several modules have is called MODULE.NAME in a workload.
  std::string fqn() const { return name.starts_with(module + ".") ? name : module + "." + name; }
  std::optional<double> load_factor() const {
    return cache_load_factor ? cache_load_factor : sharder_cache_load_factor;
  }
};

// The time to prefetch rows as a straight line over counts, with the coefficients of a machine in milliseconds
// (estimator.py, `use_linear_regression_prefetch_estimate`).
struct PrefetchLine {
  double lookups = 0, unique_lookups = 0;
  double fetched_columns = 0;  // of rows that the cache misses, times their columns
};

// The settings for all tables of a planner run.
struct EstimateSettings {
  PlannerVersion version = kNewestVersion;
  double batch_size = 512;  // per rank
  Pipeline pipeline = Pipeline::none;
  bool run_embedding_at_peak_memory = false;
  bool inference = false;
  bool without_cache_aux = false;  // as some of TorchRec's unit tests have it
  // Switches of the estimator of 2026-08, for tables with statistics of accesses. No scenario has those.
  bool fetches_by_batch_inputs = false;  // misses of all ids (`use_batch_inputs_for_expected_cache_fetches`)
  std::optional<PrefetchLine> prefetch_line;
  HardwareConfig hardware;  // of version 2026-08
  Rules rules;
};

}  // namespace shardsim::torchrec
