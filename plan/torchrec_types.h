#pragma once

#include <string>
#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// The sharding types of TorchRec's modules on GPUs, in its order: of EmbeddingBagCollection for pooled tables, of
// EmbeddingCollection for sequences (pytorch/torchrec distributed/embeddingbag.py and embedding.py,
// `sharding_types`).
std::vector<Strategy> torchrec_types(TableKind kind);

// True for a tier of a table's rows, or a placement in replica groups (flex).
bool is_tier(const Placement& placement, const Table& table);

// The ranks of the world, or of a sharding group, and those that it has on a node; 0: not known. Modules of TorchRec
// index one shard for each of them where rows are cut (pytorch/torchrec distributed/sharding/rw_sharding.py,
// twrw_sharding.py and grid_sharding.py), though it may have no rows.
struct RowRanks {
  int world = 0, node = 0;
};
RowRanks row_ranks(const Workload& workload, const ClusterSpec& cluster);

// "row_wise on 2 of 8 ranks" where the rows lie on a part of the ranks that must all have a shard of them; "" else.
std::string partial_rows(const Placement& placement, const RowRanks& ranks);

// True when TorchRec has no such placement: a tier, a type that the module of such tables lacks, or rows on a part of
// the ranks.
bool is_beyond_torchrec(const Placement& placement, const Table& table, const RowRanks& ranks);

// Describes the parts of a plan that TorchRec cannot run, with their tables: "tiers of rows (a, b), and sequences that
// are table_row_wise (c), and tables that are row_wise on 2 of 8 ranks (d)". "" where it can run all of it, and for
// workloads that HugeCTR runs.
std::string beyond_torchrec(const Plan& plan, const Workload& workload, const RowRanks& ranks);

}  // namespace shardsim
