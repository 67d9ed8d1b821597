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

}  // namespace

std::vector<PathTime> path_times(const Program& program, const CriticalPath& path) {
  const std::vector<double> seconds = path_seconds(program, path);
  std::vector<PathTime> times;
  for (const Op& op : program.ops) {
    const double ms = seconds[static_cast<std::size_t>(op.id)] * kMsPerSecond;
    if (ms <= 0) continue;
    const auto known = std::ranges::find(times, op.name, &PathTime::operation);
    if (known == times.end()) {
      times.push_back({op.name, std::string(op_class_name(op.op_class)), ms});
    } else {
      known->ms += ms;
    }
  }
  return times;
}

}  // namespace shardsim
