#include <fmt/format.h>

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <cmath>
#include <memory>
#include <unordered_map>
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

// Hashes a question to the net of tables. An answer takes a microsecond, and owners, placements and batches ask the
// same again, so answers are kept.
struct PieceHash {
  std::size_t operator()(const CallPiece& of) const {
    const RowReuse& reuse = of.table.reuse;
    std::size_t seed = boost::hash_range(reuse.missed.begin(), reuse.missed.end());
    for (const double number : {of.table.rows, of.table.pooling, of.table.batch, of.table.lookups, of.table.distinct,
                                reuse.long_lookups, reuse.long_pieces, reuse.largest, of.lines.memory, of.lines.vector})
      boost::hash_combine(seed, number);
    boost::hash_combine(seed, of.columns);
    return seed;
  }
};

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
    const ShardSeconds nets = seconds_by_nets_of(work);
    const Seconds by_laws = kernels_->seconds(work, gpu);
    if (is_unknown(work, nets, by_laws, gpu)) return by_laws;
    return nets.of(work.kind == ComputeWork::Kind::lookup);
  }

 private:
  // Fused lookups and their updates on rows of the device, table by table; planners' closed forms know sums alone.
  // Sums of gradients are no update of FBGEMM's.
  static bool is_learnt(const ComputeWork& work) {
    if (work.fixed.value > 0 || !(work.lookups > 0) || work.host_link.value > 0 || work.tables.empty()) return false;
    if (work.kind == ComputeWork::Kind::lookup) return true;
    return work.kind == ComputeWork::Kind::update && !work.optimizer.empty() && work.optimizer != "none";
  }

  // A call that is like none of the labels in one of its passes is like none in the other: it takes both from the laws.
  bool is_unknown(const ComputeWork& work, const ShardSeconds& nets, Seconds by_laws, const GpuSpec& gpu) const {
    const bool is_lookup = work.kind == ComputeWork::Kind::lookup;
    if (strays(work.kind, nets.of(is_lookup), by_laws)) return true;
    ComputeWork other = work;
    other.kind = is_lookup ? ComputeWork::Kind::update : ComputeWork::Kind::lookup;
    if (is_lookup) other.optimizer = costs_->setting().optimizer;
    return strays(other.kind, nets.of(!is_lookup), kernels_->seconds(other, gpu));
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

  ShardSeconds seconds_by_nets_of(const ComputeWork& work) const {
    CostVector sum;
    for (const CallPiece& piece : pieces_of(work.tables, costs_->row_alignment()))
      LearnedCosts::add(sum, vector_of(piece));
    ShardSeconds seconds = costs_->seconds_of(sum);
    seconds.backward = update_factor_ * std::max(seconds.backward - launch_in_update_.value, 0.0);
    return seconds;
  }

  const CostVector& vector_of(const CallPiece& piece) const {
    constexpr std::size_t kMostKept = 1 << 15;  // some 30 MB
    if (kept_.size() >= kMostKept) kept_.clear();
    const auto [at, is_new] = kept_.try_emplace(piece);
    if (is_new) at->second = costs_->vector_of(at->first);
    return at->second;
  }

  Place place_;  // of the options, for messages
  std::shared_ptr<const LearnedCosts> costs_;
  std::unique_ptr<ComputeModel> kernels_;  // of everything else
  double update_factor_;
  Seconds launch_in_update_;  // of an update, which the host simulated apart takes
  mutable std::string checked_gpu_;
  mutable std::unordered_map<CallPiece, CostVector, PieceHash> kept_;
};

}  // namespace

// Lookups and updates as nets have learned them from measured times, `costs`: a file of `shardsim cost-model train`, or
// auto, the shipped ones (scenarios/costs/); rows on the host, sums of gradients and all other operations as
// gpu_kernels has them, whose options are read, too. As the nets say: nothing makes them longer for more work. Calls
// for which nets stray from the laws of gpu_kernels take these. Errors (Failure::input): as learned_costs_of() and
// make_gpu_kernels(); when it is asked, what check_learned() refuses.
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
