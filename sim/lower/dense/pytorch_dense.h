#pragma once

#include "sim/lower/dense/dense_work.h"

namespace shardsim {

// The dense part as PyTorch runs it, kernel by kernel (docs/lowering.md, "PyTorch's dense part"). Layers in fp32, or
// their products in half precision under autocast, whose casts are kernels, too.

// Takes one rank's batch through the bottom layers or the others with the interaction and the loss.
DenseWork pytorch_forward(const Workload& workload, bool bottom, const DenseStyle& style);

// The backward pass of these layers.
DenseWork pytorch_backward(const Workload& workload, const std::vector<LayerRun>& runs, const DenseStyle& style);

// The optimizer of the dense part: its own, else that of the tables, or SGD where it is one that only these have.
DenseWork pytorch_optimizer(const DensePart& dense, const std::string& of_tables);

}  // namespace shardsim
