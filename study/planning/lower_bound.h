#pragma once

#include <string>

#include "base/units.h"
#include "study/scenario/scenario.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// A time that no plan of the case's workload on this cluster goes below: every sharding type, whole or by columns, rows
// in HBM, in at most three tiers, and every pipeline. It says nothing of plans that read rows from host memory. It
// holds for the steady iteration, which each rank repeats in the same time. 0 where nothing is known.
//
// The largest of these, less 0.1 % for the closed form of expected different rows:
//
// * Compute. All kernels of a rank run one after the other, so the busiest rank takes at least the mean over the
//   ranks. The dense part is the same on each. The embeddings' part over all ranks is at least: every id of the global
//   batch read once and a vector written for every bag; every id sorted and its gradient read once; every different row
//   of the global batch, counted as if one rank had all its ids (duplicates on several ranks are updated several times,
//   or reduced), updated once, by the cheaper of the fused kernel and the dense optimizer, at full rate. One lookup and
//   one update kernel start on every rank for every kind of table. Only with the compute model `roofline`, whose times
//   are sums of rates; with a measured rest the times are what the workload says.
// * The all-reduce of the dense part: lookups, forward and backward pass precede its last bucket, and the dense
//   optimizer waits for it, on the same stream as the next lookups. Its buckets run one after the other.
// * The copy of the batch, which has the host link or the compute stream for itself.
// * Bytes between nodes (NVSwitch ports in a single node). A table's vectors and their gradients come to the ranks of
//   other nodes, or its rows are replicated and their gradients are all-reduced: at least a copy of each row for every
//   node but one; of a sequence the cheaper of both, row by row. None of this overlaps the top of the dense part, for
//   that waits for all vectors, and the gradients wait for it. Not where GPUs share NICs.
//
// Errors: those of lowering (Failure::input).
Seconds lower_bound(const Case& item, const Cluster& cluster);

// Returns the parts that the bound of this case leaves out, so that it may lie far below every plan, with the reason;
// "" where it counts all that the list above has.
std::string lower_bound_lacks(const Case& item);

}  // namespace shardsim
