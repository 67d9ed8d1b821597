#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "plan/torchrec/search/partitioner.h"
#include "plan/torchrec/search/search_space.h"
#include "plan/torchrec/spec/names.h"
#include "plan/torchrec/spec/table_spec.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

enum class ReservationKind { fixed_percentage, heuristical, inference, fixed_absolute, sku_aware };

// Memory that no embedding may take (planner/storage_reservations.py). The last two kinds are of version 2026-08.
struct ReservationSettings {
  ReservationKind kind = ReservationKind::heuristical;
  double percentage = 0.15;  // share of device memory, 0 to 1; of the first three kinds
  double parameter_multiplier = 6;
  std::int64_t absolute = 0;  // bytes per rank; fixed_absolute
  std::int64_t margin = 0;    // bytes per rank; sku_aware, as those below
  std::int64_t runtime_overhead = 0;
  std::optional<std::int64_t> model_base;       // stands for margin and dense part
  std::optional<double> dense_tensor_estimate;  // bytes, instead of what the dense part gives; 0 counts as none
  double dense_parameter_bytes = 0;             // of all unsharded modules
  double dense_buffer_bytes = 0;
};

struct Reservation {
  Topology topology;      // with what is left
  Storage dense, kjt;     // per rank; the kjt is the batch of ids
  bool itemised = false;  // statistics name dense and kjt, and count them as used
};

// The share of rank 0's device memory that statistics call reserved; beyond 1 where more is reserved than is there.
double reserved_share(const ReservationSettings& settings, const Topology& topology);

// Errors: PlannerError (insufficient_storage) when nothing is left on rank 0, by the heuristic and by sku_aware.
Reservation reserve(const ReservationSettings& settings, const Topology& topology,
                    const std::vector<ConstrainedTable>& tables, const EstimateSettings& estimate);

enum class ProposerKind { grid_search, greedy, greedy_sum, uniform, dynamic_programming, embedding_offload_scaleup };

struct RunSettings {
  Topology topology;
  EstimateSettings estimate;
  SharderLists sharders;
  ReservationSettings reservation;
  std::vector<ProposerKind> proposers = {ProposerKind::grid_search, ProposerKind::greedy, ProposerKind::greedy_sum,
                                         ProposerKind::uniform};
  PartitionerSettings partitioner;
  double max_grid_proposals = 10000;
  int bins_per_device = 100;  // dynamic programming
  std::optional<double> timeout_seconds;
  int candidates = 0;  // how many of the best different plans to keep beside the best
  // Count every proposal that can be placed, as TorchRec prints it; else those that cannot be the best are not tried.
  bool count_plans = true;
  std::function<void()> check_stop;  // called before every proposal; may throw; may be empty
};

// The result of a run of EmbeddingShardingPlanner (planner/planners.py).
struct RunResult {
  SearchSpace space;
  Reservation reservation;
  bool found = false;
  std::vector<ShardingOption> plan;  // one option per table, in the proposal's order; empty without tables
  Assignment assignment;
  double rating = 0;
  std::vector<Candidate> candidates;     // best rating first; RunSettings::candidates of them
  int num_proposals = 0, num_plans = 0;  // evaluated, and of these placed
  int num_untried = 0;                   // not placed, since no place could make them the best
  bool timed_out = false;                // before every proposal was made
  std::vector<std::string> violations;   // why version 2026-08 refuses the plan that it found

  // Without a plan:
  PlannerFailure failure = PlannerFailure::other;  // invalid_compute_kernel with a plan: see `violations`
  std::string reason;                              // of a failure before any proposal
  std::optional<PlacementFailure> last_error;      // of the last proposal that found no place
  std::vector<ShardingOption> last_proposal;       // the last one evaluated
  Storage lowest;                                  // the least that any proposal needs, over all ranks
};

// Proposes and places, for a run that has its space and its reservation (search.cpp).
void search(RunResult& result, const RunSettings& settings);

// Returns what version 2026-08 finds wrong with the kernels of a finished plan (planners.py, validate_compute_kernels),
// table by table.
std::vector<std::string> kernel_violations(const std::vector<ShardingOption>& plan, const SearchSpace& space);

// Reserves, enumerates, proposes and places. Not finding a plan is a result. Errors: PlannerError from the estimates
// and the constraints.
RunResult run_planner(const std::vector<ConstrainedTable>& tables, const RunSettings& settings);

}  // namespace shardsim::torchrec
