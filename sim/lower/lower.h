#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/compute/compute_model.h"
#include "models/load/load_options.h"
#include "models/load/row_shares.h"
#include "models/software/software.h"
#include "models/workload/workload.h"
#include "plan/plan.h"
#include "program/program.h"
#include "topology/graph/cluster.h"

namespace shardsim {

class KnownShares;
struct DrawnBatch;

struct LoweringOptions {
  bool observed_payload = false;  // sizes from `runtime` where a table has it; never changes the plan
  bool overlap = true;            // false: one stream for everything
  LoadOptions load{};
  std::shared_ptr<KnownShares> known{};  // of earlier calls for the same tables; none: found anew
  bool row_growth = false;  // lookups say how their different rows grow (ComputeModelEntry::asks_row_growth)
  bool row_tables = false;  // lookups say what each table does (asks_tables())
  // The draw that decides which owners of cut rows hold which (sim/lower/draws/row_draws.h); none: the names of tables
  // decide, and the seed that the load states, or else the plan.
  std::optional<int> row_draw{};
  std::uint64_t most_head = kMostHeadRows;  // of the rows of a placement that are placed one by one
  const DrawnBatch* drawn = nullptr;   // sizes of this batch (sim/lower/draws/drawn_batch.h); none: the expected ones
  const Software* software = nullptr;  // whose host launches all of it, and whose kernels are counted; none: no host
  bool fills_ahead = false;  // caches are filled as in a pipeline that does it ahead, whichever the workload has
  bool launches = true;      // of the software; false: its kernels alone, without the host's operations
};

// The operations of one training iteration of this plan (docs/lowering.md). The Program's byte counts are whole
// numbers. Errors: Failure::input for what cannot be lowered (compute kernels; flex rows whose replica groups differ,
// or are not the nodes beside table_row_wise and grid_shard), naming the table.
Program lower(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options);

// The compute kernels of tables that it lowers, of those that a plan may name.
std::vector<std::string> lowered_kernels();

}  // namespace shardsim
