#pragma once

#include <string>
#include <string_view>

namespace shardsim {

// The vendor of a GPU by the name that its driver prints: "AMD" of "AMD Instinct MI300X" and "gfx942"; "" for the GPUs
// of NVIDIA, and for names that say no other vendor.
std::string foreign_gpu_vendor(std::string_view name);

// Errors (Failure::input): a GPU of another vendor, which no model here is of; `option` named it.
void refuse_foreign_gpu(const std::string& name, const std::string& option);

}  // namespace shardsim
