#include "plan/autoshard/trained_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"
#include "base/text.h"
#include "models/compute/compute_model.h"

namespace shardsim {
namespace {

void check_tasks_of_training(std::span<const ShardingTask* const> tasks) {
  if (tasks.empty()) throw input_error({"training"}, "no task to train on", "Give a scenario with two cases or more");
  for (const ShardingTask* const task : tasks) {
    if (task->tables() == 0 || task->ranks < 2)
      throw input_error({task->name}, "the task has no table, or fewer than two ranks", "Leave it out");
    if (task->setting != tasks.front()->setting)
      throw input_error({task->name},
                        fmt::format("the GPU, batch, optimizer, data type or provider differs from that of '{}'",
                                    tasks.front()->name),
                        "Train a separate policy for it: a policy is trained on one of each");
    for (const double seconds : task->alone)
      if (!(seconds > 0 && std::isfinite(seconds)))
        throw input_error({task->name}, "the cost of a table is not finite or not above 0", "Leave the task out");
  }
}

// Means and population deviations over all tables of all tasks. Features that are equal everywhere are centred alone.
InputScale feature_scale(std::span<const ShardingTask* const> tasks, const std::vector<std::string>& names,
                         const std::vector<std::string>& standardised) {
  InputScale scale{std::vector<float>(names.size(), 0.0F), std::vector<float>(names.size(), 1.0F)};
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (std::ranges::find(standardised, names[k]) == standardised.end()) continue;
    double count = 0, sum = 0, square = 0;
    for (const ShardingTask* const task : tasks)
      for (std::size_t at = k; at < task->features.size(); at += names.size()) {
        const double value = task->features[at];
        count += 1, sum += value, square += value * value;
      }
    const double mean = sum / count, variance = std::max(0.0, square / count - mean * mean);
    scale.means[k] = static_cast<float>(mean);
    if (variance > 1e-12 * mean * mean) scale.deviations[k] = static_cast<float>(std::sqrt(variance));
  }
  return scale;
}

std::vector<int> used_features(const std::vector<std::string>& names, const std::vector<std::string>& without) {
  std::vector<int> used(names.size(), 1);
  for (const std::string& left_out : without) {
    bool found = false;
    for (std::size_t k = 0; k < names.size(); ++k)
      if (names[k] == left_out || (left_out == "bins" && names[k].starts_with("bin_"))) found = true, used[k] = 0;
    if (!found)
      throw input_error({"argument --without"}, fmt::format("no feature {}", excerpt(left_out)),
                        known_names_hint(left_out, {"dim", "row", "pooling_factor", "size", "bins"}));
  }
  return used;
}

std::uint64_t hash_of_tasks(std::span<const ShardingTask* const> tasks) {
  std::uint64_t hash = 0;
  for (const ShardingTask* const task : tasks) {
    hash = mix(hash, static_cast<std::uint64_t>(task->ranks));
    hash = mix(hash, std::bit_cast<std::uint64_t>(task->room));
    for (const float feature : task->features) hash = mix(hash, std::bit_cast<std::uint32_t>(feature));
    for (const double seconds : task->alone) hash = mix(hash, std::bit_cast<std::uint64_t>(seconds));
  }
  return hash;
}

// As labels name it: the closed form is the roofline's, the laws of any family of kernels are those of gpu_kernels.
std::string provider_of(const PlannerHost& host) {
  const std::string who = host.kernels();
  if (who.empty() || who == "roofline") return "closed_form";
  const bool is_model = std::ranges::find(compute_models(), who, &ComputeModelEntry::name) != compute_models().end();
  return is_model ? who : kDefaultComputeModel;
}

void write_features(Hdf5Writer& file, const TrainedOn& policy) {
  const auto write = [&]<typename Number>(const std::string& at, const std::vector<Number>& values,
                                          const std::string& meaning) {
    file.dataset<Number>(at, values, {"/feature"}, {"1", meaning});
  };
  file.scale<std::int64_t>("/feature", policy.used.size(), {"1", "number of the feature"});
  file.texts("/feature_name", feature_names(FeatureLayout::autoshard), "/feature", {"", "name of the feature"});
  write("/means", policy.features.means, "that features are centred on");
  write("/deviations", policy.features.deviations, "that features are divided by");
  write("/used", policy.used, "0: the net is not told this feature");
}

}  // namespace

TrainedOn trained_on(std::span<const ShardingTask* const> tasks, std::uint64_t seed,
                     const std::vector<std::string>& without, const std::vector<std::string>& standardised) {
  check_tasks_of_training(tasks);
  const std::vector<std::string>& names = feature_names(FeatureLayout::autoshard);
  TrainedOn policy;
  policy.setting = tasks.front()->setting;
  policy.data_hash = hash_of_tasks(tasks);
  policy.tasks = std::ssize(tasks);
  double shards = 0, seconds = 0;
  for (const ShardingTask* const task : tasks) {
    policy.tables = std::max<std::int64_t>(policy.tables, task->tables());
    policy.ranks = std::max<std::int64_t>(policy.ranks, task->ranks);
    shards += task->ranks;
    for (const double alone : task->alone) seconds += alone;
  }
  policy.unit_seconds = seconds / shards;
  policy.seed = seed;
  policy.features = feature_scale(tasks, names, standardised);
  policy.used = used_features(names, without);
  return policy;
}

StatedPolicy stated_policy(MapReader& options) {
  if (options.required("policy").kind != Tree::Kind::map) return {options.text("policy", kFileNameRule), ""};
  MapReader map = options.map("policy");
  StatedPolicy stated{map.text("file", kFileNameRule), map.text("provider", "")};
  map.finish();
  return stated;
}

void write_trained_on(Hdf5Writer& file, const std::string& schema, const TrainedOn& policy) {
  write_setting(file, schema, policy.setting, FeatureLayout::autoshard);
  file.text_attribute("/", "data", policy.data);
  write_hash(file, "data_hash", policy.data_hash);
  file.attribute<std::int64_t>("/", "tasks", policy.tasks);
  file.attribute<std::int64_t>("/", "tables", policy.tables);
  file.attribute<std::int64_t>("/", "ranks", policy.ranks);
  file.attribute<std::int64_t>("/", "seed", static_cast<std::int64_t>(policy.seed));
  file.attribute<std::int64_t>("/", "episodes", policy.episodes);
  file.attribute<double>("/", "unit_seconds", policy.unit_seconds);
  write_features(file, policy);
}

void read_trained_on(const LearnedFile& file, const std::string& schema, const std::string& provider,
                     TrainedOn& policy) {
  file.expect("schema", schema);
  if (!provider.empty()) file.expect("provider", provider);
  file.expect_layout(FeatureLayout::autoshard);
  policy.setting = file.setting();
  policy.data = file.hdf5.text_attribute("/", "data");
  policy.data_hash = file.hash("data_hash");
  policy.tasks = file.count("tasks");
  policy.tables = file.count("tables");
  policy.ranks = file.count("ranks");
  policy.seed = file.seed();
  policy.episodes = file.count("episodes");
  policy.unit_seconds = file.hdf5.real_attribute("/", "unit_seconds");
  if (!(policy.unit_seconds > 0 && std::isfinite(policy.unit_seconds)))
    file.hdf5.refuse("its unit_seconds is not above 0");
  const std::size_t features = feature_names(FeatureLayout::autoshard).size();
  policy.features = file.inputs("", features);
  for (const std::int64_t flag : file.hdf5.integers("/used")) policy.used.push_back(flag != 0);
  if (policy.used.size() != features) file.hdf5.refuse(fmt::format("/used does not hold {} numbers", features));
}

void check_fits(const TrainedOn& policy, const ShardingTask& task, const Place& place, const std::string& planner) {
  const LabelSetting &trained = policy.setting, &asked = task.setting;
  const auto refuse = [&](const std::string& what) {
    throw input_error(
        place, "the policy was trained on " + what,
        fmt::format("Train a policy for this workload: shardsim {} train SCENARIO -o policy.h5", planner));
  };
  if (trained.batch != asked.batch)
    refuse(fmt::format("lookups of {} samples, a rank of this case looks up {}", trained.batch, asked.batch));
  if (trained.optimizer != asked.optimizer)
    refuse(fmt::format("updates by {}, this workload has {}", trained.optimizer, asked.optimizer));
  if (trained.dtype != asked.dtype) refuse(fmt::format("rows of {}, this workload has {}", trained.dtype, asked.dtype));
}

void check_provider(const TrainedOn& policy, const StatedPolicy& stated, const PlannerHost& host, const Place& place,
                    const std::string& planner) {
  const std::string &trained = policy.setting.provider, asked = provider_of(host);
  if (!stated.provider.empty() || trained == asked) return;
  throw input_error(place,
                    fmt::format("the policy was trained on costs by {}, those of this case are by {}", trained, asked),
                    fmt::format("Train a policy for this workload: shardsim {} train SCENARIO -o policy.h5; or state "
                                "policy: {{file: {}, provider: {}}} to take this one nevertheless",
                                planner, stated.file, trained));
}

std::string origin_of(const TrainedOn& policy, const ShardingTask& task) {
  std::string text = fmt::format(
      "The policy was trained on {} tasks of up to {} tables on up to {} GPUs ({}, seed {}), with costs of {} by {}.",
      policy.tasks, policy.tables, policy.ranks, policy.data, policy.seed, policy.setting.device,
      policy.setting.provider);
  if (policy.setting.device != task.setting.device) text += fmt::format(" This cluster has {}.", task.setting.device);
  if (task.ranks > policy.ranks || task.tables() > policy.tables)
    text += fmt::format(" This case, with {} tables on {} GPUs, is larger than those.", task.tables(), task.ranks);
  return text;
}

std::vector<float> TrainedOn::scaled(std::vector<float> raw) const {
  features.apply(raw);
  for (std::size_t i = 0; i < raw.size(); ++i)
    if (used[i % used.size()] == 0) raw[i] = 0;
  return raw;
}

}  // namespace shardsim
