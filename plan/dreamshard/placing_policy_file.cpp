#include <cmath>

#include "plan/dreamshard/placing_policy.h"

namespace shardsim {
namespace {

constexpr const char* kPlacingSchema = "shardsim.dreamshard_policy/1";

}  // namespace

void save_placing_policy(const PlacingPolicy& policy, const std::filesystem::path& path) {
  Hdf5Writer file;
  write_trained_on(file, kPlacingSchema, policy);
  file.attribute<std::int64_t>("/", "measured", policy.measured);
  file.attribute<double>("/", "cost_error", policy.cost_error);
  const auto write = [&](const std::string& net, const std::vector<float>& parameters, const std::string& meaning) {
    file.scale<std::int32_t>("/" + net + "_parameter", parameters.size(), {"1", "number of the parameter"},
                             Hdf5Layout::packed);
    file.dataset<float>("/" + net + "_parameters", parameters, {"/" + net + "_parameter"}, {"1", meaning});
  };
  write("cost", policy.costs, "parts and their order: plan/dreamshard/placement_net.cpp");
  write("choice", policy.choices, "parts and their order: plan/dreamshard/placing_net.cpp");
  file.save(path);
}

PlacingPolicy read_placing_policy(const std::filesystem::path& file, const std::string& provider) {
  const LearnedFile learned(file);
  PlacingPolicy policy;
  read_trained_on(learned, kPlacingSchema, provider, policy);
  policy.measured = learned.count("measured");
  policy.cost_error = learned.hdf5.real_attribute("/", "cost_error");
  if (!(policy.cost_error >= 0 && std::isfinite(policy.cost_error)))
    learned.hdf5.refuse("its cost_error is not at least 0");
  // Every size is checked against what the nets need.
  const auto features = static_cast<int>(policy.used.size());
  policy.costs = learned.reals("/cost_parameters", PlacementNet<float>(features).parameter_count());
  policy.choices = learned.reals("/choice_parameters", PlacingNet<float>(features).parameter_count());
  return policy;
}

}  // namespace shardsim
