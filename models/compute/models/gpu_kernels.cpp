#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "models/compute/cubes.h"
#include "models/compute/kernels/kernels.h"
#include "models/compute/kernels/pytorch_times.h"
#include "models/compute/kernels/table_kernels.h"

namespace shardsim {
namespace {

constexpr double kMostFixedFactor = 1000;
constexpr int kColumnsOfLane = 4;  // that a thread of the kernels by table moves at once

class GpuKernels final : public ComputeModel {
 public:
  GpuKernels(Place place, GpuTable table, std::string name, double in_situ, double update_factor,
             std::optional<Seconds> kernel_fixed, std::optional<KernelFamily> family, bool bags,
             Seconds launch_in_update, double fixed_factor)
      : place_(std::move(place)),
        table_(std::move(table)),
        name_(std::move(name)),
        in_situ_(in_situ),
        update_factor_(update_factor),
        kernel_fixed_(kernel_fixed),
        family_(std::move(family)),
        bags_(bags),
        launch_in_update_(launch_in_update),
        fixed_factor_(fixed_factor),
        pytorch_(with_starts(shipped_pytorch_kernels(), fixed_factor)) {}

  Seconds seconds(const ComputeWork& work, const GpuSpec& spec) const override {
    if (work.fixed.value > 0) return work.fixed;
    return seconds_on(*known_of(spec), work);
  }

  // A GPU that nobody knows is no error until somebody asks about it.
  OnGpu on(const GpuSpec& spec) const override {
    return [this, &spec, gpu = std::shared_ptr<const KnownGpu>()](const ComputeWork& work) mutable {
      if (work.fixed.value > 0) return work.fixed;
      if (!gpu) gpu = known_of(spec);
      return seconds_on(*gpu, work);
    };
  }

 private:
  struct KnownGpu {
    GpuSpec spec;
    GpuConstants constants;
    KernelFamily carried;  // to it; empty where there is no family
  };

  Seconds seconds_on(const KnownGpu& known, const ComputeWork& work) const {
    const GpuConstants& gpu = known.constants;
    if (work.kind == ComputeWork::Kind::sort) return sort_and_passes(work, gpu);
    if (work.lookups > 0 && work.kind == ComputeWork::Kind::lookup) return row_lookup(work, known);
    if (work.lookups > 0 && work.kind == ComputeWork::Kind::update) return update_factor_ * row_update(work, known);
    return dense_time(work, known.spec, gpu);
  }

  // Rows on the host, calls of which only sums are known, and steps of HugeCTR's own have the laws by sums.
  bool goes_by_tables(const ComputeWork& work) const {
    const bool of_hugectr = work.indexed || work.rows.in_place;
    return (family_ || bags_) && !work.tables.empty() && !of_hugectr && !(work.host_link.value > 0);
  }

  Seconds row_lookup(const ComputeWork& work, const KnownGpu& known) const {
    const GpuConstants& gpu = known.constants;
    if (!goes_by_tables(work)) return lookup_time(work, gpu);
    if (bags_) return bags_lookup_time(work.tables, pytorch_, gpu, pytorch_reference());
    check_columns(work);
    return tables_lookup_time(work.tables, known.carried, gpu);
  }

  Seconds row_update(const ComputeWork& work, const KnownGpu& known) const {
    const GpuConstants& gpu = known.constants;
    if (!goes_by_tables(work)) return update_time(work, gpu);
    if (bags_) return bags_update_time(work.tables, work.optimizer, pytorch_, gpu, pytorch_reference());
    const double launched = std::min(launch_in_update_.value, known.carried.update.start.value);
    return tables_update_time(work.tables, work.optimizer, known.carried, gpu) - Seconds{launched};
  }

  void check_columns(const ComputeWork& work) const {
    for (const TableWork& table : work.tables) {
      if (std::fmod(table.columns, kColumnsOfLane) == 0) continue;
      throw input_error(place_,
                        fmt::format("the kernels {} look up whole groups of {} columns, but a table has {}",
                                    family_->name, kColumnsOfLane, table.columns),
                        "Take a dim that is a multiple of 4 for every table and column shard, as FBGEMM asks for");
    }
  }

  // What was found of the GPU asked about last is kept.
  const std::shared_ptr<const KnownGpu>& known_of(const GpuSpec& spec) const {
    if (!last_ || last_->spec != spec) {
      KnownGpu known{spec, found_for(spec), {}};
      if (family_) known.carried = with_starts(carried_to(*family_, known.constants, reference()), fixed_factor_);
      last_ = std::make_shared<const KnownGpu>(std::move(known));
    }
    return last_;
  }

  GpuConstants found_for(const GpuSpec& spec) const {
    if (std::optional<GpuConstants> gpu = table_.constants_of(name_, spec)) {
      gpu->kernel_fixed = kernel_fixed_.value_or(gpu->kernel_fixed);
      return with_starts(std::move(*gpu), fixed_factor_);
    }
    throw input_error(place_, "the compute model gpu_kernels has no constants of the GPU " + excerpt(spec.model),
                      known_names_hint(spec.model, table_.names()) +
                          " Name one of them as `gpu` of the compute model, give a table with `file`, or take the "
                          "compute model roofline");
  }

  // The GPU that the numbers of the family are of.
  const GpuConstants& reference() const {
    if (const GpuConstants* const found = table_.find(family_->gpu)) return *found;
    throw input_error(place_,
                      fmt::format("the kernels {} were fitted on the GPU {}, of which there are no constants",
                                  family_->name, excerpt(family_->gpu)),
                      known_names_hint(family_->gpu, table_.names()));
  }

  // The GPU that PyTorch's numbers are of: the shipped table has it, whatever a file replaces.
  static const GpuConstants& pytorch_reference() {
    static const GpuTable table = shipped_gpu_table();
    return *table.find(shipped_pytorch_kernels().gpu);
  }

  static Seconds sort_and_passes(const ComputeWork& work, const GpuConstants& gpu) {
    if (work.lookups <= 0) return {0};
    return sort_time(work.lookups, work.sort, gpu) + work.kernels * gpu.kernel_fixed +
           Seconds{work.hbm_bytes / gpu.copy_bandwidth.bytes_per_second};
  }

  // Traffic beside a product is its operands' where nothing else is known; an optimizer's pass over all rows has none.
  Seconds dense_time(const ComputeWork& work, const GpuSpec& spec, const GpuConstants& gpu) const {
    const bool all_rows = work.kind == ComputeWork::Kind::update;
    if (!work.by_kernel.empty()) return pytorch_time(work, gpu);
    if (!all_rows && (!work.products.empty() || work.kernels > 0)) return seconds_one_by_one(work, spec, gpu);
    if (!all_rows && work.flops > 0 && family_ && family_->cube_side > 0)
      return seconds_one_by_one(in_cubes(work, static_cast<double>(family_->cube_side)), spec, gpu);
    const double share = all_rows ? gpu.all_rows_share : 1;
    const Seconds traffic{work.hbm_bytes / (share * gpu.copy_bandwidth.bytes_per_second)};
    const Seconds moved = gpu.kernel_fixed + std::max(traffic, work.host_link);
    if (work.flops <= 0) return moved;
    return std::max(product_time(work, product_rate(work, spec), in_situ_, gpu), moved);
  }

  Seconds pytorch_time(const ComputeWork& work, const GpuConstants& gpu) const {
    return dense_kernels_time(work.by_kernel, work.precision, pytorch_, gpu, pytorch_reference());
  }

  // Products of cubes (cubes.h), and then a copy of the operation's bytes.
  static ComputeWork in_cubes(ComputeWork work, double most_side) {
    const auto [side, count, rows_left] = cubes_of(work.flops, kCubeStep, most_side);
    if (count > 0) work.products.push_back({.product = {side, side, side}, .count = count});
    if (rows_left > 0) work.products.push_back({.product = {rows_left, side, side}, .count = 1});
    if (work.hbm_bytes > 0) work.kernels = 1;
    return work;
  }

  // Each product by its shape, then passes over what lies between them, each kernel with its own start and end.
  Seconds seconds_one_by_one(const ComputeWork& work, const GpuSpec& spec, const GpuConstants& gpu) const {
    const Seconds traffic{work.hbm_bytes / gpu.copy_bandwidth.bytes_per_second};
    Seconds sum = work.kernels * gpu.kernel_fixed + std::max(traffic, work.host_link);
    ComputeWork one;
    one.precision = work.precision;
    for (const ProductRun& run : work.products) {
      one.product = run.product;
      one.flops = 2 * run.product.m * run.product.n * run.product.k;
      if (run.share > 0) {
        const Seconds at_share{one.flops / (run.share * product_rate(work, spec).per_second)};
        sum = sum + run.count * (gpu.kernel_fixed + at_share);
        continue;
      }
      if (one.flops > 0) sum = sum + run.count * product_time(one, product_rate(work, spec), in_situ_, gpu);
    }
    return sum;
  }

  Place place_;  // of the name, for messages
  GpuTable table_;
  std::string name_;
  double in_situ_, update_factor_;
  std::optional<Seconds> kernel_fixed_;
  std::optional<KernelFamily> family_;  // none: laws by sums over tables, or EmbeddingBag's
  bool bags_;                           // EmbeddingBag's
  Seconds launch_in_update_;            // of the start of an update by tables, which the host simulated apart takes
  double fixed_factor_;                 // of all fixed parts of kernels' times
  PytorchKernels pytorch_;              // with it
  mutable std::shared_ptr<const KnownGpu> last_;
};

}  // namespace

// Kernels as they are on each GPU (models/compute/kernels/, models/compute/gpus/). Options: `gpu`, the name of the GPU
// whose constants are taken instead of those of the cluster's model; `file`, a table of GPUs on top of the shipped one;
// `in_situ` (1), the part of a product's rate that is left in a running iteration; `kernel_fixed`, start and end of a
// kernel, instead of the GPU's; `update_factor` (1 or more), by which updates of rows are slower than one fused kernel;
// `fixed_factor` (1), by which all fixed parts of kernels' times, which no amount of work changes, are longer;
// `launch_in_update` (0), what of the start of an update by tables is the launch of its kernels, where the host is
// simulated; `kernels` (fbgemm), whose lookups and updates they are, as kernel_names() has them.
// A GPU that no entry fits is taken to be like the nearest one (GpuTable::nearest()).
// Errors (Failure::input): as read_gpu_table(); ranks on CPUs, and a table without generations, when it is asked.
std::unique_ptr<ComputeModel> make_gpu_kernels(MapReader& options) {
  GpuTable table = shipped_gpu_table();
  if (options.has("file")) table = read_gpu_table(options.text("file"), std::move(table));
  const std::string name = options.text("gpu", "");
  if (!name.empty() && table.find(name) == nullptr)
    throw input_error(options.place_of("gpu"), "unknown GPU " + excerpt(name), known_names_hint(name, table.names()));
  const double in_situ = options.efficiency("in_situ", 1);
  const double update_factor = options.get<double>(
      "update_factor", real_leaf(Bounds::from(1), "1 means as fast as one fused kernel, 2 twice its time"), 1);
  std::optional<Seconds> kernel_fixed;
  if (options.has("kernel_fixed")) kernel_fixed = options.time("kernel_fixed");
  std::optional<KernelFamily> family;
  const std::string kernels = options.choice("kernels", kernel_names(), kUsualKernels);
  const bool bags = kernels == kBagKernels;
  if (!bags && kernels != kHugectrKernels) family = shipped_kernel_family(kernels, options.place_of("kernels"));
  const Seconds launch_in_update = options.time("launch_in_update", Seconds{0});
  const double fixed_factor = options.real("fixed_factor", Bounds::from(0).to(kMostFixedFactor), 1);
  return std::make_unique<GpuKernels>(options.place_of("name"), std::move(table), name, in_situ, update_factor,
                                      kernel_fixed, std::move(family), bags, launch_in_update, fixed_factor);
}

}  // namespace shardsim
