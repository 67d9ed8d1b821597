#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/hdf5/hdf5.h"
#include "base/text.h"
#include "plan/autoshard/policy.h"

namespace shardsim {
namespace {

constexpr const char* kPolicySchema = "shardsim.policy/1";
constexpr const char* kPolicyLayout = "autoshard";

void write_policy_setting(Hdf5Writer& file, const ShardingPolicy& policy) {
  file.text_attribute("/", "schema", kPolicySchema);
  file.text_attribute("/", "provider", policy.setting.provider);
  file.text_attribute("/", "device", policy.setting.device);
  file.attribute<std::int64_t>("/", "batch", policy.setting.batch);
  file.text_attribute("/", "optimizer", policy.setting.optimizer);
  file.text_attribute("/", "dtype", policy.setting.dtype);
  file.text_attribute("/", "feature_layout", kPolicyLayout);
  file.text_attribute("/", "data", policy.data);
  file.text_attribute("/", "data_hash", fmt::format("{:016x}", policy.data_hash));
  file.attribute<std::int64_t>("/", "tasks", policy.tasks);
  file.attribute<std::int64_t>("/", "tables", policy.tables);
  file.attribute<std::int64_t>("/", "ranks", policy.ranks);
  file.attribute<std::int64_t>("/", "seed", static_cast<std::int64_t>(policy.seed));
  file.attribute<std::int64_t>("/", "episodes", policy.episodes);
  file.attribute<double>("/", "balance", policy.balance);
  file.attribute<double>("/", "unit_seconds", policy.unit_seconds);
}

// Every size is checked against what the net needs.
class PolicyReader {
 public:
  explicit PolicyReader(const std::filesystem::path& path) : file_(path) {}

  ShardingPolicy read(const std::string& provider) {
    expect("schema", kPolicySchema);
    if (!provider.empty()) expect("provider", provider);
    expect("feature_layout", kPolicyLayout);
    const std::vector<std::string>& names = feature_names(FeatureLayout::autoshard);
    if (file_.texts("/feature_name") != names) file_.refuse("its features are not those of the layout that it names");
    ShardingPolicy policy;
    read_setting(policy);
    policy.features = {reals("/means", names.size()), reals("/deviations", names.size())};
    for (const float deviation : policy.features.deviations)
      if (!(deviation > 0)) file_.refuse("/deviations holds a number that is not above 0");
    for (const std::int64_t flag : file_.integers("/used")) policy.used.push_back(flag != 0);
    if (policy.used.size() != names.size()) file_.refuse(fmt::format("/used does not hold {} numbers", names.size()));
    policy.parameters = reals("/parameters", PolicyNet<float>(static_cast<int>(names.size())).parameter_count());
    return policy;
  }

 private:
  void expect(const std::string& name, const std::string& wanted) {
    const std::string has = file_.text_attribute("/", name);
    if (has != wanted) file_.refuse(fmt::format("its {} is {}, not {}", name, excerpt(has), wanted));
  }

  void read_setting(ShardingPolicy& policy) {
    const auto text = [&](const char* name) { return file_.text_attribute("/", name); };
    policy.setting = {text("provider"), text("device"), count("batch"), text("optimizer"), text("dtype")};
    policy.data = text("data");
    policy.data_hash = hash(text("data_hash"));
    policy.tasks = count("tasks");
    policy.tables = count("tables");
    policy.ranks = count("ranks");
    policy.seed = static_cast<std::uint64_t>(file_.integer_attribute("/", "seed"));
    policy.episodes = count("episodes");
    policy.balance = file_.real_attribute("/", "balance");
    policy.unit_seconds = file_.real_attribute("/", "unit_seconds");
    if (!(policy.balance >= 0 && policy.balance <= 1)) file_.refuse("its balance is not between 0 and 1");
    if (!(policy.unit_seconds > 0 && std::isfinite(policy.unit_seconds)))
      file_.refuse("its unit_seconds is not above 0");
  }

  std::int64_t count(const char* name) {
    const std::int64_t value = file_.integer_attribute("/", name);
    if (value < 1) file_.refuse(fmt::format("its {} is below 1", name));
    return value;
  }

  std::uint64_t hash(const std::string& text) {
    if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
      file_.refuse("its data_hash is no hash");
    return std::stoull(text, nullptr, 16);
  }

  std::vector<float> reals(const std::string& path, std::size_t count) {
    if (const auto shape = file_.shape(path); shape.size() != 1 || shape.front() != count)
      file_.refuse(fmt::format("{} does not hold {} numbers", path, count));
    std::vector<float> result;
    for (const double value : file_.reals(path)) {
      result.push_back(static_cast<float>(value));
      if (!std::isfinite(result.back())) file_.refuse(path + " holds a number that is not finite");
    }
    return result;
  }

  Hdf5Reader file_;
};

}  // namespace

void save_policy(const ShardingPolicy& policy, const std::filesystem::path& path) {
  Hdf5Writer file;
  write_policy_setting(file, policy);
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
  return PolicyReader(file).read(provider);
}

void check_fits(const ShardingPolicy& policy, const ShardingTask& task, const Place& place) {
  const LabelSetting &trained = policy.setting, &asked = task.setting;
  const auto refuse = [&](const std::string& what) {
    throw input_error(place, "the policy was trained on " + what,
                      "Train one for this workload: shardsim autoshard train SCENARIO -o policy.h5");
  };
  if (trained.batch != asked.batch)
    refuse(fmt::format("lookups of {} samples, a rank of this case looks up {}", trained.batch, asked.batch));
  if (trained.optimizer != asked.optimizer)
    refuse(fmt::format("updates by {}, this workload has {}", trained.optimizer, asked.optimizer));
  if (trained.dtype != asked.dtype) refuse(fmt::format("rows of {}, this workload has {}", trained.dtype, asked.dtype));
}

}  // namespace shardsim
