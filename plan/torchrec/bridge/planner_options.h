#pragma once

#include <map>
#include <string>

#include "base/tree/map_reader.h"
#include "models/workload/workload.h"
#include "plan/constraints.h"
#include "plan/torchrec/search/planner_run.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

// The constraints that a scenario may state for a table, or as "*" for all others.
struct ConstraintOptions {
  TableConstraints allowed;
  std::optional<std::int64_t> min_partition;
  std::optional<double> cache_load_factor, output_element_bytes;
  std::optional<Bytes> max_l1_cache_size;  // of key-value kernels
  std::optional<Bytes> l2_cache_size;      // likewise, in host memory
  std::int64_t num_buckets = 0;            // the table's total_num_buckets; 0: none
  bool managed_collision = false;          // it belongs to a managed-collision collection
  bool feature_processor = false;          // the table's collection is a FeatureProcessedEmbeddingBagCollection
};

// The topology keys of a scenario; absent ones come from the cluster. Keys of another device than the cluster's are
// refused when both meet.
struct TopologyOptions {
  Device device = Device::cuda;  // of ranks that are no CPUs
  bool states_device = false;
  bool torchrec_rates = false;  // TorchRec's own constants instead of the cluster's rates
  std::optional<Bytes> hbm_cap, ddr_cap;
  std::vector<Bytes> ssd_cap;   // of every rank, or rank by rank; empty: TorchRec's default
  std::optional<int> pod_size;  // hosts per NVLink domain
  Place pod_size_place, ssd_cap_place;
  std::map<std::string, Bandwidth> rates;  // by key
  std::optional<double> bwd_compute_multiplier;
  Place place;
};

// A GPU looks rows up in its own memory and over its link to the host, a CPU in the host's memory alone: a rate of the
// other kind of device would change nothing.
struct RateKey {
  const char* key;
  double Topology::*rate;
  bool on_gpu, on_cpu;
};
inline constexpr RateKey kRateKeys[] = {{"hbm_bandwidth", &Topology::hbm_bandwidth, true, false},
                                        {"ddr_bandwidth", &Topology::ddr_bandwidth, false, true},
                                        {"hbm_to_ddr_bandwidth", &Topology::hbm_to_ddr_bandwidth, true, false},
                                        {"intra_bandwidth", &Topology::intra_host_bandwidth, true, true},
                                        {"inter_bandwidth", &Topology::inter_host_bandwidth, true, true}};

// The planner map of a scenario (docs/formats/scenario.md, planner torchrec), read once and used for any workload and
// cluster.
struct PlannerOptions {
  RunSettings run;  // all that the map says of a run; workload and cluster add the rest (planner_request)
  TopologyOptions topology;
  std::map<std::string, ConstraintOptions> constraints;
  bool simulated = false;  // judge candidates by simulation
  int candidates = 20;     // how many of the best estimates are simulated
};

// Errors: Failure::input with place for unknown proposers, types, kernels and impossible numbers.
PlannerOptions read_planner_options(MapReader& reader);

// Its keys `version`, `variant`, `rules` and `run_embedding_at_peak_memory`, which the memory model has too.
EstimateSettings read_estimate_settings(MapReader& reader);

// The lists `sharding_types` and `compute_kernels`; empty where the key is absent. An empty list is an error: it would
// leave no option, and TorchRec takes it for "any".
std::vector<ShardingType> read_sharding_types(MapReader& reader);
std::vector<ComputeKernel> read_compute_kernels(MapReader& reader);

// Its key `version` alone, absent for the newest.
PlannerVersion read_version(MapReader& reader);

// Its map `topology` alone. Errors: Failure::input for keys that the version of the planner does not have.
TopologyOptions read_topology_options(MapReader reader, PlannerVersion version);

// The options narrowed to what a scenario allows each table; null: everything. Where both name types or kernels, those
// in both are left; the wider min_partition holds. Errors: Failure::input where nothing is left, or both state another
// cache_load_factor.
PlannerOptions with_constraints(PlannerOptions options, const Constraints* constraints, const Workload& workload);

}  // namespace shardsim::torchrec
