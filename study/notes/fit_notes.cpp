// Notes on the cluster and on the constants that were fitted.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/collective/collective.h"
#include "models/collective/fitted_overheads.h"
#include "models/compute/compute_model.h"
#include "models/compute/gpus/gpu_constants.h"
#include "models/compute/learned_model.h"
#include "study/notes/notes.h"

namespace shardsim {
namespace {

// How many operations of an iteration are calls that the cluster's fits do not hold for, and why the first is one.
struct OutsideFit {
  int calls = 0, outside = 0;
  std::string first;

  void count(const std::string& name, const std::string& why) {
    ++calls;
    if (!why.empty() && outside++ == 0) first = fmt::format("{}: {}", name, why);
  }
};

// `visit(op, kind, ranks, bytes)` of every collective: the first of its groups, the most bytes of any rank.
template <typename Visit>
void for_calls(const Timeline& timeline, const Visit& visit) {
  std::vector<std::int64_t> bytes(timeline.ops.size(), 0);
  for (const Span& span : timeline.spans) bytes[span.op] = std::max(bytes[span.op], span.bytes);
  for (std::size_t i = 0; i < timeline.ops.size(); ++i) {
    const Timeline::OpInfo& op = timeline.ops[i];
    const auto kind = collective_kind_named(op.op_class);
    const auto group = timeline.groups.find(op.group);
    if (kind && group != timeline.groups.end()) visit(op, *kind, group->second.front(), bytes[i]);
  }
}

struct CallsOutsideFit : OutsideFit {
  std::string_view taken, beyond;  // by the first of them instead: of outside_fit(), and of extrapolated_fit()
};

// By the kind of the collective. `why` says it of a call: outside_fit(), extrapolated_fit().
template <typename Why>
std::map<std::string, CallsOutsideFit> calls_outside_fits(const Timeline& timeline, const Cluster& cluster,
                                                          const Why& why) {
  std::map<std::string, CallsOutsideFit> found;
  for_calls(timeline,
            [&](const Timeline::OpInfo& op, CollectiveKind kind, const std::vector<int>& ranks, std::int64_t bytes) {
              const CallShape call{kind, group_shape(ranks, cluster), bytes};
              CallsOutsideFit& fit = found[op.op_class];
              fit.count(op.name, why(call, cluster));
              if (fit.outside == 0 || !fit.taken.empty()) return;
              fit.taken = taken_outside_fit(call, cluster);
              fit.beyond = taken_beyond_fit(call, cluster.spec());
            });
  return found;
}

bool has_telling_lookups(const CaseResult& result) {
  constexpr double kTellingLookups = 0.05;  // of the iteration
  double ms = 0;
  for (const NamedTime& time : result.times)
    if (time.op_class == "lookup" || time.op_class == "update") ms += time.span_ms;
  return ms >= kTellingLookups * result.iteration_ms;
}

}  // namespace

Notes cluster_note(const Known& known) {
  return cluster_notes(known.item.cluster);
}

// Tells what the cluster's file says of GPUs that it does not have here.
Notes cut_cluster_note(const Known& known) {
  const ClusterSpec& cluster = known.item.cluster;
  if (cluster.places.gone.empty()) return {};
  return {fmt::format("Nodes of '{}' have {} here, fewer than its file says. Left out: {}.", cluster.name,
                      counted(static_cast<std::size_t>(cluster.gpu.count), "GPU"), join(cluster.places.gone))};
}

// Those of cluster_note() on keys that change nothing.
Notes idle_cluster_keys_note(const Known& known) {
  return idle_key_notes(known.item.cluster);
}

// Where nobody asks each call, as overhead_fits_note() does.
Notes fit_reach_note(const Known& known) {
  return fit_reach_notes(known.item.cluster);
}

Notes overhead_fits_note(const Known& known) {
  const Cluster& cluster = known.prepared->cluster;
  const Timeline& timeline = known.result->timeline;
  const auto ranged = [](const auto& kind) {
    return kind.second.in_node.holds_for || kind.second.across_nodes.holds_for;
  };
  if (std::ranges::none_of(cluster.spec().overheads, ranged)) return {};
  Notes notes;
  const auto out = [](const CallShape& call, const Cluster& of) { return outside_fit(call, of); };
  for (const auto& [kind, fit] : calls_outside_fits(timeline, cluster, out)) {
    if (fit.outside == 0) continue;
    notes.push_back(
        fmt::format("The fitted overheads of {} do not hold for {} of {} operations ({}), which use {} instead.", kind,
                    fit.outside, fit.calls, fit.first, fit.taken));
  }
  const auto beyond = [](const CallShape& call, const Cluster& of) { return extrapolated_fit(call, of); };
  for (const auto& [kind, fit] : calls_outside_fits(timeline, cluster, beyond)) {
    if (fit.outside == 0) continue;
    notes.push_back(
        fmt::format("The fitted overheads of {} were measured on other groups or larger sizes than {} of {} operations "
                    "have ({}). Those take {}.",
                    kind, fit.outside, fit.calls, fit.first, fit.beyond));
  }
  return notes;
}

// How many operations of an iteration are calls that a fitted efficiency of relays does not hold for.
Notes relay_fit_note(const Known& known) {
  const Cluster& cluster = known.prepared->cluster;
  if (!cluster.spec().nvlink.nvb_holds_for) return {};
  OutsideFit fit;
  for_calls(known.result->timeline,
            [&](const Timeline::OpInfo& op, CollectiveKind kind, const std::vector<int>& ranks, std::int64_t bytes) {
              fit.count(op.name, outside_relay_fit({kind, group_shape(ranks, cluster), bytes}, ranks, cluster));
            });
  if (fit.outside == 0) return {};
  return {fmt::format(
      "The fitted nvb_efficiency was not measured for {} of {} collectives ({}), but is applied to them, too.",
      fit.outside, fit.calls, fit.first)};
}

Notes kernel_fit_note(const Known& known) {
  const PreparedCase& prepared = *known.prepared;
  const GpuSpec& gpu = prepared.cluster.spec().gpu;
  if (!gpu.holds_for || !is_roofline(prepared.item.compute_model)) return {};
  const auto most = [](const PerRank& of_ranks) { return std::ranges::max(of_ranks.values); };
  OutsideFit fit;
  for (const Op& op : prepared.program().ops) {
    if (op.is_collective()) continue;
    ComputeWork work;
    work.hbm_bytes = most(op.hbm_bytes);
    work.flops = most(op.flops);
    work.lookups = most(op.lookups);
    work.fixed = {static_cast<double>(op.fixed_ns) * 1e-9};
    fit.count(op.name, outside_fit(work, gpu));
  }
  if (fit.outside == 0) return {};
  return {fmt::format(
      "The fitted rates of the GPU were not measured for {} of {} operations ({}), but are applied to them, too.",
      fit.outside, fit.calls, fit.first)};
}

// The GPU whose constants stand for those of a GPU that nobody measured; "" where they are its own.
std::string like_another_note(const Case& item) {
  static const GpuTable gpus = shipped_gpu_table();
  const GpuSpec& gpu = item.cluster.gpu;
  const bool names_others = item.compute_model.find("gpu") != nullptr || item.compute_model.find("file") != nullptr;
  if (!has_kernel_constants(item.compute_model) || names_others || gpus.find(gpu.model) != nullptr) return "";
  const GpuConstants* const like = gpus.nearest(gpu);
  if (like == nullptr) return "";
  return fmt::format(
      "No kernels of the GPU {} are known. Those of the {} stand for them, the nearest generation, scaled by the "
      "rates of memory, arithmetic, SMs and caches that the cluster states; nobody has compared that with "
      "measurements. Name another GPU as compute_model.gpu, or measure this one (shardsim-microbench).",
      gpu.model, like->name);
}

// Those of docs/accuracy.md, "Measured kernels": a reader sees whether a GPU is among them.
constexpr const char* kGpusOfMeasuredKernels = "V100, A100, H100, H200 and B200";

bool is_guessed(const SourcedValue& constant) {
  return constant.source.starts_with("guess");
}

// The same model for every GPU, which does not know what the kernels of this one do; another one does.
Notes compute_model_note(const Known& known) {
  const Case& item = known.item;
  if (const std::string note = like_another_note(item); !note.empty()) return {note};
  if (known.result != nullptr && !has_telling_lookups(*known.result)) return {};
  if (item.workload.dense.measured || !is_roofline(item.compute_model)) return {};
  static const GpuTable gpus = shipped_gpu_table();
  const GpuConstants* const known_gpu = gpus.find(item.cluster.gpu.model);
  if (known_gpu == nullptr) return {};
  const auto guesses = std::ranges::count_if(known_gpu->sources, is_guessed);
  return {fmt::format(
      "Lookups and updates are timed by the compute model 'roofline', which knows of no caches, no popular rows and "
      "no widths of tables. 'compute_model: {{name: gpu_kernels}}' has constants of the {} ({} of {} are guesses) and "
      "was compared with measured kernels of {}.",
      item.cluster.gpu.model, guesses, known_gpu->sources.size(), kGpusOfMeasuredKernels)};
}

}  // namespace shardsim
