#include "validate/execute/devices/update_settings.h"

namespace shardsim {

OptimizerSettings optimizer_settings(const std::string& optimizer, bool check_data, const Place& place) {
  OptimizerSettings settings;
  if (check_data) {
    settings.learning_rate = 1;
    return settings;
  }
  if (optimizer == "sgd") {
    settings.optimizer = RowOptimizer::sgd;
  } else if (optimizer == "rowwise_adagrad") {
    settings.optimizer = RowOptimizer::rowwise_adagrad;
  } else if (optimizer == "adam") {
    settings.optimizer = RowOptimizer::adam;
  } else {
    throw input_error(place, "updates with optimizer '" + optimizer + "', which the executor has no kernel for",
                      "It has sgd, rowwise_adagrad and adam");
  }
  return settings;
}

OptimizerSettings update_settings(const Program& program, int gradient, int apply, bool check_data) {
  const int update = apply >= 0 ? apply : gradient;
  if (update < 0) return {};
  const Op& op = program.ops[static_cast<std::size_t>(update)];
  return optimizer_settings(op.optimizer, check_data, {op.name});
}

std::vector<OptimizerSettings> part_settings(const Program& program, const Fusion& fusion, bool check_data) {
  std::vector<OptimizerSettings> settings;
  for (const Fusion::Part& part : fusion.parts) {
    settings.push_back(update_settings(program, part.gradient, part.apply, check_data));
  }
  return settings;
}

OptimizerSettings summing_settings() {
  OptimizerSettings settings;
  settings.learning_rate = -1;
  return settings;
}

}  // namespace shardsim
