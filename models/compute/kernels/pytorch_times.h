#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/compute/compute_model.h"
#include "models/compute/dense_kernel.h"
#include "models/compute/kernels/pytorch_kernels.h"

namespace shardsim {

// Seconds of the kernels one after the other with the gaps between them, of products in that precision, on `gpu` whose
// peak rates are `flops`; `reference` is the GPU that the numbers are of.
Seconds dense_kernels_time(std::span<const DenseKernel> kernels, const std::string& precision,
                           const PytorchKernels& numbers, const GpuConstants& gpu, const GpuConstants& reference);

// Seconds of PyTorch's own embeddings (nn.EmbeddingBag and nn.Embedding with `sparse=True`, and torch.optim), from the
// tables of a call; formulas: docs/formats/measurements.md, EmbeddingBag. `reference`: the GPU that the numbers are of.
//
// A warp looks up 32 columns of a bag, row after row. A table of sequences is copied row by row, each by a block.
Seconds bags_lookup_time(const std::vector<TableWork>& tables, const PytorchKernels& numbers, const GpuConstants& gpu,
                         const GpuConstants& reference);

// The gradient of each lookup is a row that is copied from that of its bag; SGD adds these to the table by index, in
// any order, those of one row one after the other. Every other optimizer first sums them by row (`coalesce`), in which
// one warp walks over all gradients of a row. `optimizer`: as a workload names it.
Seconds bags_update_time(const std::vector<TableWork>& tables, const std::string& optimizer,
                         const PytorchKernels& numbers, const GpuConstants& gpu, const GpuConstants& reference);

}  // namespace shardsim
