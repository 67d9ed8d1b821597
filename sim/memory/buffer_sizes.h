#pragma once

#include <optional>

#include "models/workload/workload.h"
#include "sim/lower/dense/dense_work.h"
#include "sim/memory/buffers.h"

namespace shardsim {

// The sizes of what operations write and read.

// A part of what a pass moves: it reads as much as it writes.
BytesByRank half_of(const PerRank& moved);

// An all_to_all, a reduce_scatter or an all_gather: what a rank gives to it, and what it gets, own chunk included.
BytesByRank moved_by(const Program& program, const Op& exchange, bool given);

// Vectors that a lookup writes, in the tables' types; of HugeCTR in that of the wire.
BytesByRank vectors_of(const Program& program, const Op& lookup);

// A gradient as large as the rows that the operation's shards have on each rank. Where the optimizer passes over
// `all_rows`, whatever has a gradient, that of rows that are not replicated has the rows alone that were looked up, at
// most one for each gradient that is read.
BytesByRank dense_gradient_of(const Program& program, const Op& gradient, bool all_rows);

// The rows that each rank holds of the tables whose rows the operation scatters among replicas, without what fills them
// up.
BytesByRank rows_scattered(const Program& program, const Op& scatter);

// Returns the part of memory for the vectors or gradients that an operation in this role writes; none: it writes none
// that stay beside what it reads.
std::optional<MemoryPart> part_written(OpRole role);

// The bytes of these on each rank.
BytesByRank bytes_written(const Program& program, const Op& op, const Workload& workload);

// True when an operation in this role has vectors or gradients in hand: it reads those of the operations that it waits
// for.
bool works_on_vectors(OpRole role);

bool encodes(OpRole role);

// What an encoder reads: all that it moves but for what the exchange behind it sends.
BytesByRank bytes_encoded(const Program& program, const Op& encoder);

// Bytes that autograd keeps of one rank's batch for the backward pass of the dense part, of the bottom layers or of the
// others: what each product works on, results of normalisation and gating, of attention its three inputs and its
// result, and in half precision the copy of the weights. Not counted are gradients of activations, which take their
// place one by one, and temporary memory of kernels.
double dense_activation_bytes(const Workload& workload, bool bottom);

// The same of the repeats of one layer.
double dense_activation_bytes(const Workload& workload, const LayerRun& run);

// True when the workload tells its layers; a measured rest, or parameters alone, say nothing of activations.
bool tells_dense_activations(const DensePart& dense);

}  // namespace shardsim
