#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "models/compute/kernels/kernels.h"
#include "models/compute/models/models.h"

namespace shardsim {
namespace {

class GpuKernels final : public ComputeModel {
 public:
  GpuKernels(GpuTable table, std::string name, double in_situ)
      : table_(std::move(table)), name_(std::move(name)), in_situ_(in_situ) {}

  Seconds seconds(const ComputeWork& work, const GpuSpec& spec) const override {
    if (work.fixed.value > 0) return work.fixed;
    const GpuConstants& gpu = constants_of(spec);
    if (work.kind == ComputeWork::Kind::sort) return sort_time(work.lookups, work.sort, gpu);
    if (work.lookups > 0 && work.kind == ComputeWork::Kind::lookup) return lookup_time(work, gpu);
    if (work.lookups > 0 && work.kind == ComputeWork::Kind::update) return update_time(work, gpu);
    return dense_time(work, spec, gpu);
  }

 private:
  // Those of the GPU asked about last are kept: planners ask about one GPU a million times.
  const GpuConstants& constants_of(const GpuSpec& spec) const {
    if (!last_ || last_->first != spec) last_.emplace(spec, found_for(spec));
    return last_->second;
  }

  GpuConstants found_for(const GpuSpec& spec) const {
    const std::string& name = name_.empty() ? spec.model : name_;
    if (const GpuConstants* const found = table_.find(name)) return with_stated(*found, spec);
    throw input_error({}, "the compute model gpu_kernels has no constants of the GPU " + excerpt(name),
                      known_names_hint(name, table_.names()) +
                          " Name one of them as `gpu` of the compute model, give a table with `file`, or take the "
                          "compute model roofline");
  }

  // Traffic beside a product is its operands' where nothing else is known; an optimizer's pass over all rows has none.
  Seconds dense_time(const ComputeWork& work, const GpuSpec& spec, const GpuConstants& gpu) const {
    const double share = work.kind == ComputeWork::Kind::update ? gpu.all_rows_share : 1;
    const Seconds traffic{work.hbm_bytes / (share * gpu.copy_bandwidth.bytes_per_second)};
    const Seconds moved = gpu.kernel_fixed + std::max(traffic, work.host_link);
    if (work.flops <= 0) return moved;
    return std::max(product_time(work, product_rate(work, spec), in_situ_, gpu), moved);
  }

  GpuTable table_;
  std::string name_;
  double in_situ_;
  mutable std::optional<std::pair<GpuSpec, GpuConstants>> last_;
};

}  // namespace

std::unique_ptr<ComputeModel> make_gpu_kernels(MapReader& options) {
  GpuTable table = shipped_gpu_table();
  if (options.has("file")) table = read_gpu_table(options.text("file"), std::move(table));
  const std::string name = options.text("gpu", "");
  if (!name.empty() && table.find(name) == nullptr)
    throw input_error(options.place_of("gpu"), "unknown GPU " + excerpt(name), known_names_hint(name, table.names()));
  const double in_situ = options.efficiency("in_situ", 1);
  return std::make_unique<GpuKernels>(std::move(table), name, in_situ);
}

}  // namespace shardsim
