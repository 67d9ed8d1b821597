#include "study/confidence/path_times.h"

#include <algorithm>

namespace shardsim {
namespace {

constexpr double kMsPerSecond = 1e3;

// [op] Seconds on the path.
std::vector<double> path_seconds(const Program& program, const CriticalPath& path) {
  std::vector<double> seconds(program.ops.size(), 0.0);
  double of_hosts = 0, beneath = 0;
  for (const PathStep& step : path.steps) {
    if (step.op < 0) continue;
    seconds[static_cast<std::size_t>(step.op)] += step.seconds;
    if (program.op(step.op).op_class == OpClass::host) of_hosts += step.seconds;
  }
  for (const double each : path.beneath) beneath += each;
  for (std::size_t op = 0; op < path.beneath.size(); ++op) {
    if (program.ops[op].op_class == OpClass::host) {
      seconds[op] *= std::max(0.0, 1 - beneath / of_hosts);
    } else {
      seconds[op] += path.beneath[op];
    }
  }
  return seconds;
}

// Sums of replicated rows and even collectives are the same wherever rows lie, and so is the dense part.
bool is_moved_by_rows(const Op& op) {
  switch (op.role) {
    case OpRole::exchange_lengths:
    case OpRole::exchange_ids:
    case OpRole::exchange_weights:
    case OpRole::recat:
    case OpRole::index_rows:
    case OpRole::lookup:
    case OpRole::order_lookups:
    case OpRole::exchange_output:
    case OpRole::exchange_gradient:
    case OpRole::order_received_gradient:
    case OpRole::weight_gradient:
    case OpRole::sum_gradient:
    case OpRole::update:
    case OpRole::apply:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<PathTime> path_times(const Program& program, const CriticalPath& path) {
  const std::vector<double> seconds = path_seconds(program, path);
  std::vector<PathTime> times;
  for (const Op& op : program.ops) {
    const double ms = seconds[static_cast<std::size_t>(op.id)] * kMsPerSecond;
    if (ms <= 0) continue;
    const bool is_host_op = op.op_class == OpClass::host;
    const auto at = static_cast<std::size_t>(op.id);
    const double beneath_ms = is_host_op || at >= path.beneath.size() ? 0 : path.beneath[at] * kMsPerSecond;
    const auto known = std::ranges::find(times, op.name, &PathTime::operation);
    if (known == times.end()) {
      times.push_back({op.name, std::string(op_class_name(op.op_class)), ms, beneath_ms});
    } else {
      known->ms += ms;
      known->beneath_ms += beneath_ms;
    }
  }
  return times;
}

double share_moved_by_rows(const Program& program, const std::vector<PathTime>& path, double iteration_ms) {
  double ms = 0;
  for (const PathTime& time : path) {
    const auto moved = [&](const Op& op) { return op.name == time.operation && is_moved_by_rows(op); };
    if (std::ranges::any_of(program.ops, moved)) ms += time.ms;
  }
  return std::min(1.0, ms / iteration_ms);
}

}  // namespace shardsim
