#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/byte_matrix.h"
#include "models/workload.h"
#include "plan/plan.h"
#include "sim/lower.h"
#include "topology/cluster.h"

namespace shardsim {

// All placements of one strategy: they share one exchange of ids, one lookup, one output exchange and one update
// (pytorch/torchrec distributed/embedding.py builds one sharding object per type).
struct FusionGroup {
  Strategy strategy = Strategy::row_wise;
  std::string prefix;       // "rw", "flex", "dp", "cw", "tw": of its matrices
  std::string group;        // of its exchange, as in Program::groups; "" when nothing is exchanged
  std::vector<int> shards;  // indices into Program::shards
  bool exchanges() const { return !group.empty(); }

  // Whole numbers, by source rank all alike (docs/lowering.md, "Whole numbers").
  ByteMatrix ids;             // source -> owner
  ByteMatrix gradients;       // source -> owner, backward wire
  ByteMatrix rows_by_source;  // source -> owner, forward wire: the output exchange is its transpose

  // Per rank (one value, or one per rank of the world).
  std::vector<double> lookups;         // rows read
  std::vector<double> lookup_bytes;    // HBM, read plus written
  std::vector<double> gradient_bytes;  // HBM of the sparse gradient or of the fused update
  std::vector<double> distinct_rows;   // expected
  double own_rows = 0;                 // rows that the own batch asks of this group, all tables
  double own_bytes = 0;                // the same in bytes of the table's type

  // Replicated rows (data_parallel, flex): the all-reduce and the optimizer pass over it.
  std::int64_t replicated_bytes = 0;
  double apply_bytes = 0;
  double replicated_rows = 0;
};

// The groups of a plan in the order of the forward pass: data_parallel, flex, row_wise, column_wise, table_wise; empty
// ones left out. The plan has passed check_plan.
std::vector<FusionGroup> fuse(const Plan& plan, const Workload& workload, const Cluster& cluster,
                              const LoweringOptions& options);

// Expected items of one rank's batch that fall into the placement's rows, rounded half up.
std::int64_t items_per_rank(const Placement& placement, const Workload& workload, const AccessDistribution& access,
                            bool observed_payload);

}  // namespace shardsim
