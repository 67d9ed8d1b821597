#include "study/confidence/iteration_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "models/collective/collective.h"
#include "models/collective/fitted_overheads.h"
#include "models/compute/compute_model.h"
#include "models/compute/learned_model.h"
#include "program/timeline/timeline.h"
#include "study/confidence/class_errors.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {
namespace {

std::string model_words(const Workload& workload) {
  double elements = 0, lookups = 0;
  for (const Table& table : workload.tables) {
    elements += static_cast<double>(table.rows) * static_cast<double>(table.dim);
    lookups += table.average_length;
  }
  return fmt::format("{}: {} tables of {:.4g} elements, {:.4g} lookups a sample, {}", workload.name,
                     workload.tables.size(), elements, lookups, workload.dense.precision);
}

std::string plan_words(const Case& item) {
  if (!item.plan_file.empty()) return item.plan_file;
  std::string words = item.planner.find("name")->scalar;
  for (const auto& [key, value] : item.planner.fields) {
    if (key != "name" && value.kind == Tree::Kind::scalar) words += ", " + key + " " + value.scalar;
  }
  return words;
}

// The times of host and loader, which are the same whatever the model is: versions of one software differ in them.
std::string version_words(const Software& software) {
  return fmt::format("{:.4g} ms an iteration, {:.4g} us a sample", software.fixed.ms(), software.per_sample.us());
}

bool is_guess(const SourcedValue& constant) {
  return !constant.fitted && constant.source.starts_with("guess");
}

// Lookups and updates of nets that have seen nothing like them.
bool is_beyond_labels(const Case& item) {
  return is_learned(item.compute_model) &&
         !beyond_labels(*learned_costs_of(item.compute_model), item.workload, batch_of_all(item), item.cluster.gpu)
              .empty();
}

// The parts of an iteration that hang on constants that are guesses.
struct Guesses {
  std::set<std::string, std::less<>> classes;  // "host", "kernel/lookup", "in_node", "across_nodes"
  bool beyond_labels = false;                  // of nets

  bool has(std::string_view error_class) const { return classes.contains(error_class); }
};

// Adds guesses of the GPU's kernels; copies are part of everything.
void add_kernel_guesses(Guesses& guesses, const Case& item, const GpuTable& gpus) {
  if (is_roofline(item.compute_model)) guesses.classes.insert({"kernel/lookup", "kernel/update", "kernel/product"});
  const bool by_kernels = has_kernel_constants(item.compute_model);
  const GpuConstants* const constants = by_kernels ? gpus.find(item.cluster.gpu.model) : nullptr;
  // Another GPU's constants, scaled, are guesses all of them.
  if (by_kernels && constants == nullptr) guesses.classes.insert({"kernel/lookup", "kernel/update", "kernel/product"});
  guesses.beyond_labels = is_beyond_labels(item);
  if (guesses.beyond_labels) guesses.classes.insert({"kernel/lookup", "kernel/update"});
  if (constants == nullptr) return;
  static const std::map<std::string, std::string, std::less<>> kWhose = {
      {"bytes_in_flight", "kernel/lookup"},     {"dram_latency", "kernel/lookup"},
      {"gather_l2", "kernel/lookup"},           {"lookups_per_ns", "kernel/lookup"},
      {"row_read_share", "kernel/lookup"},      {"row_update_share", "kernel/update"},
      {"sort_fixed", "kernel/update"},          {"sort_share", "kernel/update"},
      {"tensor_core_share", "kernel/product"},  {"fp32_share", "kernel/product"},
      {"copy_bandwidth", "kernel/update"},      {"bags_of_sm", "kernel/lookup"},
      {"gradient_miss_share", "kernel/update"}, {"exposed_write", "kernel/product"},
      {"tile_128x128_share", "kernel/product"}, {"tile_128x64_share", "kernel/product"},
      {"tile_64x64_share", "kernel/product"}};
  for (const SourcedValue& constant : constants->sources) {
    const auto whose = kWhose.find(constant.path);
    if (whose != kWhose.end() && is_guess(constant)) guesses.classes.insert(whose->second);
  }
}

Guesses guesses_of(const Case& item, const GpuTable& gpus) {
  Guesses guesses;
  add_kernel_guesses(guesses, item, gpus);
  static const std::set<std::string, std::less<>> kOnGpu = {"kernel_fixed",    "in_situ",     "update_factor",
                                                            "attention_share", "elementwise", "stream_sharing"};
  if (item.software) {
    for (const SourcedValue& constant : item.software->sources)
      if (is_guess(constant) && !kOnGpu.contains(constant.path)) guesses.classes.insert("host");
  }
  for (const SourcedValue& constant : item.cluster.sources)
    if (is_guess(constant) && constant.path.starts_with("nics")) guesses.classes.insert("across_nodes");
  if (guesses_host_copies(item.cluster)) guesses.classes.insert({std::string(kHostCopies), "across_nodes"});
  const bool pcie_alone = item.cluster.nvlink.kind == NvlinkKind::none;
  for (const std::string& open : item.cluster.open)
    if (pcie_alone && open.find("guess") != std::string::npos) guesses.classes.insert("in_node");
  return guesses;
}

// Returns the shape of an operation's first group.
GroupShape shape_of(const Timeline& timeline, const std::string& name) {
  const int per_node = std::max(1, timeline.ranks_per_node);
  const auto op = std::ranges::find(timeline.ops, name, &Timeline::OpInfo::name);
  if (op == timeline.ops.end()) return {1, 1, 1, 1};
  const auto group = timeline.groups.find(op->group);
  if (group == timeline.groups.end() || group->second.empty())
    return {timeline.world_size, (timeline.world_size + per_node - 1) / per_node, per_node, per_node};
  const std::vector<int>& ranks = group->second.front();
  std::set<int> nodes;
  for (const int rank : ranks) nodes.insert(rank / per_node);
  return {static_cast<int>(ranks.size()), static_cast<int>(nodes.size()), per_node, per_node};
}

// The same of nets, as their file says it of labels that no fit looked at, where they have seen tables and batches like
// these.
std::optional<double> learned_scale_of(const Case& item, std::string_view error_class, const Guesses& guesses) {
  if (!is_learned(item.compute_model) || guesses.beyond_labels) return std::nullopt;
  const bool lookup = error_class == "kernel/lookup";
  if (!lookup && error_class != "kernel/update") return std::nullopt;
  const std::shared_ptr<const LearnedCosts> costs = learned_costs_of(item.compute_model);
  const LearnedEvidence& evidence = costs->evidence();
  if (evidence.held_back == 0) return std::nullopt;
  return lookup ? evidence.forward.scale : evidence.backward.scale;
}

// The same of the GPU, where the roofline that was calibrated times the operations.
std::optional<double> own_scale_of(const Case& item, std::string_view error_class) {
  const std::optional<HeldOutWork>& held_out = item.cluster.gpu.held_out;
  if (!held_out || !is_roofline(item.compute_model)) return std::nullopt;
  if (error_class == "kernel/lookup") return held_out->lookup;
  if (error_class == "kernel/update") return held_out->update;
  return error_class == "kernel/product" ? held_out->product : std::nullopt;
}

// The fitted constants of such calls that stand between them and the rate of their links.
double fitted_share_of(const ClusterSpec& spec, const std::string& op_class, const GroupShape& group,
                       std::int64_t bytes) {
  const std::optional<CollectiveKind> kind = collective_kind_named(op_class);
  if (!kind) return 1;
  const OverheadSpec overhead = overhead_of({*kind, group, bytes}, spec);
  return overhead.efficiency * (group.across_nodes() ? overhead.nic_efficiency.value_or(1) : 1);
}

std::string compute_class(std::string_view op_class) {
  return op_class == "dense" ? "kernel/product" : "kernel/" + std::string(op_class);
}

// Returns the bytes of a call of the collective `name`: on the rank that moves most, in the mean over its calls.
std::int64_t call_bytes(const Timeline& timeline, const std::string& name) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(timeline.world_size)), calls(bytes.size());
  for (const Span& span : timeline.spans) {
    if (timeline.ops[static_cast<std::size_t>(span.op)].name != name) continue;
    bytes[static_cast<std::size_t>(span.rank)] += span.bytes;
    ++calls[static_cast<std::size_t>(span.rank)];
  }
  return std::ranges::max(bytes) / std::max<std::int64_t>(1, std::ranges::max(calls));
}

IterationPart collective_part(const PathTime& on_path, const Case& item, const Timeline& timeline,
                              const Guesses& guesses) {
  const std::string transport = item.cluster.nics ? item.cluster.nics->transport : "";
  const GroupShape group = shape_of(timeline, on_path.operation);
  const std::int64_t bytes = call_bytes(timeline, on_path.operation);
  IterationPart part{collective_error_class(on_path.op_class, group.across_nodes(), transport, bytes), on_path.ms};
  part.fitted_share = fitted_share_of(item.cluster, on_path.op_class, group, bytes);
  const std::optional<CollectiveKind> kind = collective_kind_named(on_path.op_class);
  const CallShape call{kind.value_or(CollectiveKind::all_reduce), group, bytes};
  if (const auto own = kind ? held_out_scale(item.cluster, call) : std::nullopt) {
    part.own_scale = own->here;
    part.own_measured = own->measured;
    part.guessed = own->guessed;
    return part;
  }
  // So does what was fitted for other numbers of ranks.
  const bool extrapolated = kind && nearest_fitted(call, item.cluster).group.members != group.members;
  part.guessed = extrapolated || guesses.has(group.across_nodes() ? "across_nodes" : "in_node");
  if (!group.across_nodes() && guesses.has(kHostCopies)) part.error_class = kHostCopies;
  return part;
}

IterationPart part_of(const PathTime& on_path, const Case& item, const Timeline& timeline, const Guesses& guesses) {
  if (is_communication(on_path.op_class)) return collective_part(on_path, item, timeline, guesses);
  if (is_host(on_path.op_class)) return {"host", on_path.ms, guesses.has("host"), {}};
  const std::string error_class = compute_class(on_path.op_class);
  if (const std::optional<double> learned = learned_scale_of(item, error_class, guesses))
    return {"nets/" + on_path.op_class, on_path.ms, false, learned};
  const std::optional<double> own = own_scale_of(item, error_class);
  return {error_class, on_path.ms, !own && guesses.has(error_class), own};
}

// The system whose errors say nothing of this case; "" where all of them count. A point of a sweep is a case of a
// published model on its own system as much as the case of the scenario that states the published time.
std::string own_system(const Case& item, const IterationSetting& setting, const ErrorModel& errors) {
  const bool published =
      std::ranges::any_of(item.published, [](const Published& number) { return number.quantity == "iteration"; });
  return published || errors.has_published(setting) ? setting.system() : "";
}

// Nobody has published a run whose rows lie in key-value stores.
Interval with_doubts(Interval interval, const JudgedIteration& iteration) {
  const std::string fetch = "store_fetch";
  if (std::ranges::find(iteration.timeline.ops, fetch, &Timeline::OpInfo::name) != iteration.timeline.ops.end())
    interval.outside.emplace_back("no published run with rows in key-value stores");
  return interval;
}

}  // namespace

std::optional<HeldOutScale> held_out_scale(const ClusterSpec& spec, const CallShape& call) {
  const std::optional<HeldOutCalls> held_out = overhead_of(call, spec).held_out;
  const std::optional<double> here = held_out ? held_out->scale(call.bytes) : std::nullopt;
  if (!here) return std::nullopt;
  const CallShape nearest = nearest_fitted(call, spec);
  return HeldOutScale{*here, overhead_of(nearest, spec).held_out->scale(nearest.bytes).value_or(*here),
                      is_guessed_beyond(call, spec)};
}

std::string collective_error_class(std::string_view kind, bool across, std::string_view transport, std::int64_t bytes) {
  if (!across) return fmt::format("collective/in_node/{}/{}", size_class(bytes), kind);
  if (is_calibrated(transport)) return fmt::format("collective/rdma/{}/{}", size_class(bytes), kind);
  // Few systems have each foreign network: what the errors of all of them have in common by size is known better.
  return fmt::format("foreign_collective/{}/{}/{}", size_class(bytes), transport, kind);
}

IterationSetting setting_of(const Case& item, int gpus) {
  IterationSetting setting;
  setting.software = item.software ? item.software->name : "none";
  if (item.software) setting.version = version_words(*item.software);
  setting.cluster = item.cluster.name;
  setting.gpu = gpu_product_of(item.cluster.gpu.model);
  setting.model = model_words(item.workload);
  setting.plan = plan_words(item);
  setting.gpus = gpus;
  setting.nodes = std::max(1, gpus / std::max(1, item.cluster.gpu.count));
  setting.transport = setting.nodes > 1 && item.cluster.nics ? item.cluster.nics->transport : "none";
  setting.batch_per_gpu = item.workload.batch_per_gpu;
  setting.tables = item.workload.tables.size();
  return setting;
}

std::vector<IterationPart> parts_of(const Case& item, double ms, const Timeline& timeline,
                                    const std::vector<PathTime>& path, const GpuTable& gpus) {
  const Guesses guesses = guesses_of(item, gpus);
  std::vector<IterationPart> parts;
  double known = 0;
  for (const PathTime& each : path) {
    parts.push_back(part_of(each, item, timeline, guesses));
    parts.back().beneath_ms = each.beneath_ms;
    known += each.ms;
  }
  if (parts.empty()) return {{"kernel", ms, false, {}}};
  for (IterationPart& part : parts) {
    part.ms *= ms / known;
    part.beneath_ms *= ms / known;
  }
  return parts;
}

IterationJudge::IterationJudge() : errors_(shipped_residuals()), gpus_(shipped_gpu_table()) {}

std::vector<IterationPart> IterationJudge::parts(const Case& item, const JudgedIteration& iteration) const {
  return parts_of(item, iteration.ms, iteration.timeline, iteration.path, gpus_);
}

Interval IterationJudge::interval(const Case& item, const JudgedIteration& iteration) const {
  const IterationSetting setting = setting_of(item, iteration.timeline.world_size);
  return with_doubts(errors_.interval(iteration.ms, setting, parts(item, iteration), iteration.spread,
                                      own_system(item, setting, errors_)),
                     iteration);
}

Interval IterationJudge::wordless_interval(const Case& item, const JudgedIteration& iteration) const {
  IterationSetting setting = setting_of(item, iteration.timeline.world_size);
  const std::string own = own_system(item, setting, errors_);
  setting.model.clear();
  setting.plan.clear();
  return with_doubts(errors_.wordless_interval(iteration.ms, setting, parts(item, iteration), iteration.spread, own),
                     iteration);
}

}  // namespace shardsim
