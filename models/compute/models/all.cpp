#include <algorithm>
#include <array>

#include "base/tree/map_reader.h"
#include "models/compute/compute_model.h"
#include "models/compute/gpus/gpu_constants.h"
#include "models/compute/gpus/kernel_family.h"
#include "models/compute/learned_model.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {

ComputeModelMaker make_gpu_kernels, make_learned, make_measured, make_roofline;  // of the files beside this one

std::span<const ComputeModelEntry> compute_models() {
  static constexpr std::array<ComputeModelEntry, 4> kModels{{
      {"gpu_kernels", "lookups, updates, sorts and matrix products by constants of each GPU's kernels, V100 to GB300",
       make_gpu_kernels, true},
      {"learned",
       "fused lookups and updates by nets trained on measured times (costs: auto, or a file); all else as gpu_kernels",
       make_learned, true},
      {"measured",
       "interpolates times of a micro-benchmark (file: measured.csv); larger sizes take the rate of the largest",
       make_measured},
      {"roofline", "kernel start plus the slowest of memory traffic, arithmetic and issue of lookups", make_roofline},
  }};
  return kModels;
}

std::unique_ptr<ComputeModel> make_compute_model(const Tree& options) {
  return make_named(compute_models(), options, "compute model");
}

std::string compute_model_name(const Tree& options) {
  const Tree* const name = options.find("name");
  return name == nullptr ? kDefaultComputeModel : name->scalar;
}

std::vector<std::string> roofline_keys(const GpuSpec& gpu) {
  const GpuSpec usual = usual_gpu(gpu);
  std::vector<std::string> keys;
  if (gpu.flops_efficiency != usual.flops_efficiency) keys.emplace_back("gpu.flops_efficiency");
  if (gpu.lookups_per_ns != usual.lookups_per_ns) keys.emplace_back("gpu.lookups_per_ns");
  if (gpu.sort_per_lookup != usual.sort_per_lookup) keys.emplace_back("gpu.sort_per_lookup");
  if (gpu.sorted_update_kernels != usual.sorted_update_kernels) keys.emplace_back("gpu.sorted_update_kernels");
  if (gpu.sorted_update_efficiency != usual.sorted_update_efficiency) keys.emplace_back("gpu.sorted_update_efficiency");
  return keys;
}

std::string usual_compute_model(const GpuSpec& gpu) {
  const bool is_cpu = capability_number(gpu.compute_capability) == 0;
  const bool is_calibrated = gpu.holds_for || gpu.held_out;
  static const GpuTable known = shipped_gpu_table();
  const bool is_made_up = !roofline_keys(gpu).empty() && known.find(gpu.model) == nullptr;
  return is_cpu || is_calibrated || is_made_up ? "roofline" : kDefaultComputeModel;
}

bool is_roofline(const Tree& options) {
  return compute_model_name(options) == "roofline";
}

bool asks_row_growth(const Tree& options) {
  const auto models = compute_models();
  const auto found = std::ranges::find(models, compute_model_name(options), &ComputeModelEntry::name);
  return found != models.end() && found->asks_row_growth;
}

std::string kernel_family_name(const Tree& options) {
  if (!has_kernel_constants(options)) return "";
  const Tree* const kernels = options.find("kernels");
  return kernels == nullptr ? kUsualKernels : kernels->scalar;
}

bool asks_tables(const Tree& options) {
  const std::string family = kernel_family_name(options);
  return !family.empty() && family != kHugectrKernels;
}

bool has_kernel_family(const Tree& options) {
  return asks_tables(options) && kernel_family_name(options) != kBagKernels;
}

}  // namespace shardsim
