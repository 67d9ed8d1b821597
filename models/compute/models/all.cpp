#include <algorithm>
#include <array>

#include "base/tree/map_reader.h"
#include "models/compute/compute_model.h"
#include "models/compute/gpus/kernel_family.h"

namespace shardsim {

ComputeModelMaker make_gpu_kernels, make_measured, make_roofline;  // of the files beside this one

std::span<const ComputeModelEntry> compute_models() {
  static constexpr std::array<ComputeModelEntry, 3> kModels{{
      {"gpu_kernels", "lookups, updates, sorts and matrix products by constants of each GPU's kernels, V100 to GB300",
       make_gpu_kernels, true},
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

bool is_roofline(const Tree& options) {
  return compute_model_name(options) == "roofline";
}

bool asks_row_growth(const Tree& options) {
  const auto models = compute_models();
  const auto found = std::ranges::find(models, compute_model_name(options), &ComputeModelEntry::name);
  return found != models.end() && found->asks_row_growth;
}

bool asks_tables(const Tree& options) {
  const Tree* const kernels = options.find("kernels");
  return compute_model_name(options) == "gpu_kernels" && kernels != nullptr && kernels->scalar != kHugectrKernels;
}

}  // namespace shardsim
