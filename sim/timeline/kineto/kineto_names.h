#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardsim {

// What the names in traces of PyTorch (Kineto) mean to us.

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

// Element type by PyTorch's name (Float, Half, BFloat16, Long, ...) as OpInfo::dtype has it, "" when it is none of
// ours, and its size; 1 byte when not known.
struct TraceElement {
  std::string dtype;
  std::int64_t bytes = 1;
};
TraceElement trace_element(std::string_view torch_name);

}  // namespace shardsim
