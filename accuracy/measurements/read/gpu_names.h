#pragma once

#include <string>
#include <string_view>

namespace shardsim {

// GPUs as drivers name them in logs: "NVIDIA A100-SXM4-40GB", "NVIDIA H100 80GB HBM3", "Tesla V100-SXM2-16GB".

// True for the names of other vendors' devices (AMD, Hygon, Intel, Moore Threads, ...).
bool is_foreign_gpu(std::string_view name);

// True for the names of processors, which ranks without a GPU print where others print theirs: "AMD EPYC 7V13",
// "Intel(R) Xeon(R) ...", "cpu_rank".
bool is_processor(std::string_view name);

// The product without memory, form and vendor: "A100", "H100", "RTX5090", "GB200"; "" where a name says no product, as
// "NVIDIA Graphics Device" of a pre-release driver. The names of cluster files are understood too.
std::string gpu_product(std::string_view name);

}  // namespace shardsim
