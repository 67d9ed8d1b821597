#pragma once

#include <memory>

#include "models/compute/compute_model.h"

namespace shardsim {

// The roofline of one operation, alone on its device (docs/formats.md, gpu constants):
//   kernel_overhead + max(hbm_bytes / copy_bandwidth, flops / (rate of the precision x flops_efficiency),
//                         lookups / lookups_per_ns).
// A sorted exact update (FBGEMM's kind) is several kernels, a sort, and memory traffic at part of the copy rate:
//   sorted_update_kernels x kernel_overhead + lookups x sort_per_lookup
//     + hbm_bytes / (sorted_update_efficiency x copy_bandwidth).
// Error (Failure::input): products in a precision whose rate the GPU does not state.
// launch_overhead is host time: kernels queue on their stream and hide it, so it is left out.
std::unique_ptr<ComputeModel> make_roofline(MapReader& options);

}  // namespace shardsim
