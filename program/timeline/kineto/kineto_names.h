#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "program/timeline/timeline.h"

namespace shardsim {

// The meaning of the names in traces of PyTorch (Kineto).

// A communication kernel: NCCL's (ncclKernel_..., since 2.19 ncclDevKernel_...) and RCCL's, which share the names.
bool is_communication_kernel(std::string_view kernel);

// The class of a collective by PyTorch's name ("allreduce", "_allgather_base", "all_to_allv") or by the kernel's
// ("ncclKernel_AllReduce_RING_LL_Sum_float", "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"). "" when it says none that
// we have. A kernel called SendRecv is all_to_all: PyTorch writes `send` and `recv` apart only in the collective's
// name.
std::string collective_class(std::string_view name);

// lookup: forward kernels of embedding tables (FBGEMM's split_embedding..._forward..., PyTorch's EmbeddingBag); update:
// their backward kernels, which update the rows too; dense: every other kernel.
std::string compute_class(std::string_view kernel);

// Returns what a kernel of the dense part does, by its name in PyTorch, cuBLAS, CUTLASS, cuDNN, CUB, FBGEMM and Triton:
// products, attention, element-wise, reductions, normalization, index, sort and scan, concatenation, optimizer,
// permutation, random; "" when the name says none of them.
std::string_view kernel_kind(std::string_view kernel);

// A type of elements: as OpInfo::dtype has it ("" when it is none of ours), as PyTorch's profiler and as NCCL's kernels
// write it (c10 ScalarType; NVIDIA/nccl src/device/generate.py). An unknown type counts as bytes.
struct TraceElement {
  std::string_view dtype, torch, kernel;
  std::int64_t bytes = 1;
};
TraceElement element_of_torch(std::string_view torch_name);
TraceElement element_of_dtype(std::string_view dtype);

// The name of one of our collectives in a trace: the argument "Collective name" (torch/csrc/distributed/c10d/
// ProcessGroupNCCL.cpp), and the kernel, as NCCL 2.19 and later name theirs: ncclDevKernel_, the kind, what is summed,
// algorithm and protocol, those that were chosen. Readers know communication by that first word alone
// (facebookresearch/HolisticTraceAnalysis, hta/common/types.py). Compute keeps its own name.
std::string_view torch_collective_name(std::string_view op_class);
std::string kernel_name(const Timeline::OpInfo& op);

// A text as JSON has it, in quotes; what is not UTF-8 is replaced.
std::string quoted(const std::string& text);

}  // namespace shardsim
