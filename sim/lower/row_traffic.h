#pragma once

#include "models/workload/workload.h"
#include "sim/lower/lookup_part.h"

namespace shardsim {

// The reads and writes of one rank for the lookups of one placement (docs/lowering.md, "Bytes in device memory").
struct RowTraffic {
  double row = 0, state = 0;         // bytes of a row, and of what the optimizer keeps of it
  double forward = 0, backward = 0;  // HugeCTR: bytes of a vector that is written, and of its gradient
  double summed = 0;                 // bytes of a row's gradient that is written before it is applied
  double lookups = 0, vectors = 0;   // rows read, vectors written
  double touched = 0, missed = 0;    // different rows, and those of them that a cache misses
  // Shares of the lookups, and of the different rows, for which a cache has no room: they are used in host memory.
  double uncached = 0, uncached_rows = 0;
  double weighted = 0;  // share of the lookups whose weights get a gradient
  // Bytes of a row that a cache gets, and rows that a key-value store behind it gives: some of them lie on an SSD.
  double cached_row = 0, stored = 0, on_ssd = 0;
  double touched_by_more = 0;  // different rows of kMoreIds as many lookups
};

// The kernels that do it.
enum class RowKernels { fused, per_table, hugectr, in_place };
RowKernels row_kernels_of(const Workload& workload);

// Adds them to what the rank has of the part.
void add_traffic(LookupPart& part, const RowTraffic& of, int rank, RowKernels kernels);

// The optimizer's pass over `rows` rows, all of which have a gradient where it is dense; else those that were touched.
void add_apply(LookupPart& part, const RowTraffic& of, int rank, double rows, bool dense_gradient, RowKernels kernels);

}  // namespace shardsim
