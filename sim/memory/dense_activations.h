#pragma once

#include "models/workload/workload.h"
#include "sim/lower/dense/dense_work.h"

namespace shardsim {

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
