#include "plan/autoshard/policy.h"

namespace shardsim {
namespace {

constexpr const char* kPolicySchema = "shardsim.policy/1";

}  // namespace

void save_policy(const ShardingPolicy& policy, const std::filesystem::path& path) {
  Hdf5Writer file;
  write_trained_on(file, kPolicySchema, policy);
  file.attribute<double>("/", "balance", policy.balance);
  file.scale<std::int32_t>("/parameter", policy.parameters.size(), {"1", "number of the parameter"},
                           Hdf5Layout::packed);
  file.dataset<float>("/parameters", policy.parameters, {"/parameter"},
                      {"1", "parts and their order: plan/autoshard/policy_net.cpp"});
  file.save(path);
}

ShardingPolicy read_policy(const std::filesystem::path& file, const std::string& provider) {
  const LearnedFile learned(file);
  ShardingPolicy policy;
  read_trained_on(learned, kPolicySchema, provider, policy);
  policy.balance = learned.hdf5.real_attribute("/", "balance");
  if (!(policy.balance >= 0 && policy.balance <= 1)) learned.hdf5.refuse("its balance is not between 0 and 1");
  // Every size is checked against what the net needs.
  const PolicyNet<float> net(static_cast<int>(policy.used.size()));
  policy.parameters = learned.reals("/parameters", net.parameter_count());
  return policy;
}

}  // namespace shardsim
