#pragma once

#include <map>
#include <string>

#include "base/map_reader.h"
#include "models/workload/workload.h"
#include "plan/torchrec/bridge/from_workload.h"
#include "plan/torchrec/search/planner_run.h"
#include "topology/graph/cluster.h"

namespace shardsim::torchrec {

// What a scenario may say to a table, or to all others as "*".
struct ConstraintOptions {
  TableConstraints allowed;
  std::optional<std::int64_t> min_partition;
  std::optional<double> cache_load_factor, output_element_bytes;
  Place place;
};

// The topology keys of a scenario; absent ones come from the cluster.
struct TopologyOptions {
  bool torchrec_rates = false;  // TorchRec's own constants instead of the cluster's rates
  std::optional<Bytes> hbm_cap, ddr_cap;
  std::optional<Bandwidth> hbm, ddr, hbm_to_ddr, intra, inter;
  std::optional<double> bwd_compute_multiplier, uneven_sharding_perf_multiplier;
};

// The planner map of a scenario (docs/formats.md, planner torchrec), read once and used for any workload and cluster.
struct PlannerOptions {
  std::vector<ProposerKind> proposers;
  PartitionerSettings partitioner;
  ReservationSettings reservation;
  TopologyOptions topology;
  std::map<std::string, ConstraintOptions> constraints;
  Rules rules;
  bool run_embedding_at_peak_memory = false;
  double max_grid_proposals = 10000;
  int bins_per_device = 100;
  std::optional<double> timeout_seconds;
  bool simulated = false;  // judge candidates by simulation
  int candidates = 20;     // how many of the best estimates are simulated
};

// Errors: Failure::input with place for unknown proposers, types, kernels and impossible numbers.
Rules read_rules(MapReader& reader);  // keys `variant` and `rules`

PlannerOptions read_planner_options(MapReader& reader);

// Its map `topology` alone.
TopologyOptions read_topology_options(MapReader reader);

// Everything that run_planner wants. `tables[i]` of the result is table `order[i]` of the workload.
struct PlannerRequest {
  std::vector<ConstrainedTable> tables;
  std::vector<std::size_t> order;
  RunSettings settings;
};

// Errors: Failure::input for a constraint on a table that the workload does not have.
PlannerRequest planner_request(const PlannerOptions& options, const Workload& workload, const Cluster& cluster);

}  // namespace shardsim::torchrec
