#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/compute/compute_model.h"
#include "models/compute/gpus/kernel_family.h"

namespace shardsim {

// Seconds of a fused lookup and of its update, alone on their GPU, from each table of the call. The design is that of
// FBGEMM's table-batched embedding (pytorch/FBGEMM at 71d6f8b22); formulas and where they come from:
// docs/formats/measurements.md, kernels by table. `family`: as carried_to() has it for `gpu`.
//
// A group of lanes works at one bag; each lane moves four columns, and the widest table of the call, or with
// KernelFamily::own_lanes its own, says how many lanes a group has. All bags of a table come before those of the next
// one.
//
// `memory` of the family was fitted beside what groups wait, and is more than the memory carries. Rows of 1 KiB and
// more come near it, so a lookup of such rows takes no less than its bytes at the GPU's copy rate.
Seconds tables_lookup_time(const std::vector<TableWork>& tables, const KernelFamily& family, const GpuConstants& gpu);

// The same without that bound, as constants are fitted.
Seconds unbounded_lookup_time(const std::vector<TableWork>& tables, const KernelFamily& family,
                              const GpuConstants& gpu);

// Bags are numbered, pairs of row and bag are sorted by row, then each different row gets the sum of its gradients, by
// a group of lanes or, in long runs, by blocks. `optimizer`: as a workload names it; "none": sums are written alone.
Seconds tables_update_time(const std::vector<TableWork>& tables, const std::string& optimizer,
                           const KernelFamily& family, const GpuConstants& gpu);

// Lanes of each group in a call whose widest table has so many columns: 8, 16 or 32, and no fewer than `least`.
int group_lanes(double columns, int least);

}  // namespace shardsim
