#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/error.h"
#include "models/compute/compute_model.h"
#include "models/compute/gpus/kernel_family.h"
#include "models/compute/learned_model.h"
#include "models/learned/table_features.h"

namespace shardsim {

ComputeModelMaker make_gpu_kernels;  // of the file beside this one

namespace {

constexpr const char* kOtherModel = "Take compute_model: {name: gpu_kernels}, or nets that were trained for this";

// The figures of the rows that the rank holds, of those of all owners together: each has its even share of the lookups
// and rows, and the whole of a cache.
RowReuse own_reuse(const RowReuse& of_all, double share) {
  if (share == 1) return of_all;
  RowReuse own = of_all;
  for (double* const sum : {&own.lookups, &own.distinct, &own.long_lookups, &own.long_rows, &own.long_pieces})
    *sum *= share;
  own.largest = std::min(own.largest, own.lookups);
  double rows = 4;
  for (double& missed : own.missed) {
    missed = share > 0 ? share * of_all.missed_by(rows / share) : 0;
    rows *= 4;
  }
  return own;
}

TableStatistics statistics_of(const TableWork& table) {
  TableStatistics statistics;
  statistics.rows = std::max(kFewestStatisticRows, table.rows);
  statistics.pooling = table.bags > 0 ? table.lookups / table.bags : 0;
  statistics.dtype_bytes = static_cast<int>(std::lround(table.row_bytes / table.columns));
  statistics.batch = table.bags;
  statistics.lookups = table.lookups;
  statistics.reuse = own_reuse(table.reuse, table.share());
  statistics.distinct = statistics.reuse.distinct;
  return statistics;
}

class Learned final : public ComputeModel {
 public:
  Learned(Place place, std::shared_ptr<const LearnedCosts> costs, std::unique_ptr<ComputeModel> kernels,
          double update_factor, Seconds launch_in_update)
      : place_(std::move(place)),
        costs_(std::move(costs)),
        kernels_(std::move(kernels)),
        update_factor_(update_factor),
        launch_in_update_(launch_in_update) {}

  Seconds seconds(const ComputeWork& work, const GpuSpec& gpu) const override {
    if (!is_learnt(work)) return kernels_->seconds(work, gpu);
    check(work, gpu);
    const ShardSeconds seconds = seconds_of(work.tables);
    if (work.kind == ComputeWork::Kind::lookup) return {seconds.forward};
    return {update_factor_ * std::max(seconds.backward - launch_in_update_.value, 0.0)};
  }

 private:
  // Fused lookups and their updates on rows of the device, table by table; planners' closed forms know sums alone.
  // Sums of gradients are no update of FBGEMM's.
  static bool is_learnt(const ComputeWork& work) {
    if (work.fixed.value > 0 || !(work.lookups > 0) || work.host_link.value > 0 || work.tables.empty()) return false;
    if (work.kind == ComputeWork::Kind::lookup) return true;
    return work.kind == ComputeWork::Kind::update && !work.optimizer.empty() && work.optimizer != "none";
  }

  [[noreturn]] void refuse_call(const std::string& what) const { throw input_error(place_, what, kOtherModel); }

  void check(const ComputeWork& work, const GpuSpec& gpu) const {
    const LabelSetting& setting = costs_->setting();
    if (gpu.model != checked_gpu_) {
      if (!is_same_device(setting.device, gpu.model))
        refuse_call(fmt::format("the nets of the compute model learned from times on {}, and not of {}", setting.device,
                                gpu.model));
      checked_gpu_ = gpu.model;
    }
    if (work.kind == ComputeWork::Kind::update && work.optimizer != setting.optimizer)
      refuse_call(fmt::format("the nets of the compute model learned from updates by {}, and not by {}",
                              setting.optimizer, work.optimizer));
    for (const TableWork& table : work.tables) check_columns_of(table, setting);
  }

  void check_columns_of(const TableWork& table, const LabelSetting& setting) const {
    if (!table.pooled) refuse_call("the nets of the compute model learned from pooled lookups, and not from sequences");
    if (!kernels_of(setting).empty() && std::fmod(table.columns, kColumnsAtOnce) != 0)
      throw input_error(place_,
                        fmt::format("the kernels {} look up whole groups of 4 columns, but a table has {}",
                                    kernels_of(setting), table.columns),
                        "Take a dim that is a multiple of 4 for every table and column shard, as FBGEMM asks for");
  }

  ShardSeconds seconds_of(const std::vector<TableWork>& tables) const {
    CostVector sum;
    for (const TableWork& table : tables)
      LearnedCosts::add(sum, costs_->vector_of(statistics_of(table), std::llround(table.columns)));
    return costs_->seconds_of(sum);
  }

  Place place_;  // of the options, for messages
  std::shared_ptr<const LearnedCosts> costs_;
  std::unique_ptr<ComputeModel> kernels_;  // of everything else
  double update_factor_;
  Seconds launch_in_update_;  // of an update, which the host simulated apart takes
  mutable std::string checked_gpu_;
};

}  // namespace

// Lookups and updates as nets have learned them from measured times, `costs`: a file of `shardsim cost-model train`, or
// auto, the shipped ones (scenarios/costs/); rows on the host, sums of gradients and all other operations as
// gpu_kernels has them, whose options are read, too. As the nets say: nothing makes them longer for more work.
// Errors (Failure::input): as learned_costs_of() and make_gpu_kernels(); when it is asked, what check_learned()
// refuses.
std::unique_ptr<ComputeModel> make_learned(MapReader& options) {
  options.text("costs", std::string("auto"));
  std::shared_ptr<const LearnedCosts> costs = learned_costs_of(options.tree());
  const double update_factor = options.real("update_factor", Bounds::from(1), 1);
  const Seconds launched = options.time("launch_in_update", Seconds{0});
  const Seconds start = shipped_kernel_family(kUsualKernels, options.place_of("name")).update.start;
  std::unique_ptr<ComputeModel> kernels = make_gpu_kernels(options);
  return std::make_unique<Learned>(options.tree().place, std::move(costs), std::move(kernels), update_factor,
                                   Seconds{std::min(launched.value, start.value)});
}

}  // namespace shardsim
