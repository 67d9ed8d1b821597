#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "plan/autoshard/policy.h"
#include "plan/learned/learned_file.h"

namespace shardsim {
namespace {

constexpr const char* kPolicySchema = "shardsim.policy/1";

void write_origin(Hdf5Writer& file, const ShardingPolicy& policy) {
  write_setting(file, kPolicySchema, policy.setting, FeatureLayout::autoshard);
  file.text_attribute("/", "data", policy.data);
  write_hash(file, "data_hash", policy.data_hash);
  file.attribute<std::int64_t>("/", "tasks", policy.tasks);
  file.attribute<std::int64_t>("/", "tables", policy.tables);
  file.attribute<std::int64_t>("/", "ranks", policy.ranks);
  file.attribute<std::int64_t>("/", "seed", static_cast<std::int64_t>(policy.seed));
  file.attribute<std::int64_t>("/", "episodes", policy.episodes);
  file.attribute<double>("/", "balance", policy.balance);
  file.attribute<double>("/", "unit_seconds", policy.unit_seconds);
}

void read_origin(const LearnedFile& file, ShardingPolicy& policy) {
  policy.setting = file.setting();
  policy.data = file.hdf5.text_attribute("/", "data");
  policy.data_hash = file.hash("data_hash");
  policy.tasks = file.count("tasks");
  policy.tables = file.count("tables");
  policy.ranks = file.count("ranks");
  policy.seed = file.seed();
  policy.episodes = file.count("episodes");
  policy.balance = file.hdf5.real_attribute("/", "balance");
  policy.unit_seconds = file.hdf5.real_attribute("/", "unit_seconds");
  if (!(policy.balance >= 0 && policy.balance <= 1)) file.hdf5.refuse("its balance is not between 0 and 1");
  if (!(policy.unit_seconds > 0 && std::isfinite(policy.unit_seconds)))
    file.hdf5.refuse("its unit_seconds is not above 0");
}

}  // namespace

void save_policy(const ShardingPolicy& policy, const std::filesystem::path& path) {
  Hdf5Writer file;
  write_origin(file, policy);
  const auto write = [&]<typename Number>(const std::string& at, const std::vector<Number>& values,
                                          const std::string& axis, const std::string& meaning) {
    file.dataset<Number>(at, values, {axis}, {"1", meaning});
  };
  file.scale<std::int64_t>("/feature", policy.used.size(), {"1", "number of the feature"});
  file.texts("/feature_name", feature_names(FeatureLayout::autoshard), "/feature", {"", "name of the feature"});
  write("/means", policy.features.means, "/feature", "that features are centred on");
  write("/deviations", policy.features.deviations, "/feature", "that features are divided by");
  write("/used", policy.used, "/feature", "0: the net is not told this feature");
  file.scale<std::int32_t>("/parameter", policy.parameters.size(), {"1", "number of the parameter"},
                           Hdf5Layout::packed);
  write("/parameters", policy.parameters, "/parameter", "parts and their order: plan/autoshard/policy_net.cpp");
  file.save(path);
}

ShardingPolicy read_policy(const std::filesystem::path& file, const std::string& provider) {
  const LearnedFile learned(file);
  learned.expect("schema", kPolicySchema);
  if (!provider.empty()) learned.expect("provider", provider);
  learned.expect_layout(FeatureLayout::autoshard);
  const std::size_t features = feature_names(FeatureLayout::autoshard).size();
  ShardingPolicy policy;
  read_origin(learned, policy);
  policy.features = learned.inputs("", features);
  for (const std::int64_t flag : learned.hdf5.integers("/used")) policy.used.push_back(flag != 0);
  if (policy.used.size() != features) learned.hdf5.refuse(fmt::format("/used does not hold {} numbers", features));
  // Every size is checked against what the net needs.
  policy.parameters = learned.reals("/parameters", PolicyNet<float>(static_cast<int>(features)).parameter_count());
  return policy;
}

void check_fits(const ShardingPolicy& policy, const ShardingTask& task, const Place& place) {
  const LabelSetting &trained = policy.setting, &asked = task.setting;
  const auto refuse = [&](const std::string& what) {
    throw input_error(place, "the policy was trained on " + what,
                      "Train a policy for this workload: shardsim autoshard train SCENARIO -o policy.h5");
  };
  if (trained.batch != asked.batch)
    refuse(fmt::format("lookups of {} samples, a rank of this case looks up {}", trained.batch, asked.batch));
  if (trained.optimizer != asked.optimizer)
    refuse(fmt::format("updates by {}, this workload has {}", trained.optimizer, asked.optimizer));
  if (trained.dtype != asked.dtype) refuse(fmt::format("rows of {}, this workload has {}", trained.dtype, asked.dtype));
}

}  // namespace shardsim
