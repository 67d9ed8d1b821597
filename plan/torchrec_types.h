#pragma once

#include <string>
#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"

namespace shardsim {

// The sharding types of TorchRec's modules on GPUs, in its order: of EmbeddingBagCollection for pooled tables, of
// EmbeddingCollection for sequences (pytorch/torchrec distributed/embeddingbag.py and embedding.py,
// `sharding_types`).
std::vector<Strategy> torchrec_types(TableKind kind);

// Whether it is a tier of a table's rows, or in replica groups (flex).
bool is_tier(const Placement& placement, const Table& table);

// Whether TorchRec has no such placement: a tier, or a type that the module of such tables lacks.
bool is_beyond_torchrec(const Placement& placement, const Table& table);

// What of a plan TorchRec does not have, in words with the tables: "tiers of rows (a, b), and sequences that are
// table_row_wise (c)". "" where it has all of it, and of workloads that HugeCTR runs.
std::string beyond_torchrec(const Plan& plan, const Workload& workload);

}  // namespace shardsim
