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

// True for a tier of a table's rows, or a placement in replica groups (flex).
bool is_tier(const Placement& placement, const Table& table);

// True when TorchRec has no such placement: a tier, or a type that the module of such tables lacks.
bool is_beyond_torchrec(const Placement& placement, const Table& table);

// Describes the parts of a plan that TorchRec cannot run, with their tables: "tiers of rows (a, b), and sequences that
// are table_row_wise (c)". "" where it can run all of it, and for workloads that HugeCTR runs.
std::string beyond_torchrec(const Plan& plan, const Workload& workload);

}  // namespace shardsim
