#include "sim/lower/measured_times.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace shardsim {
namespace {

void hold(Program& program, Seconds time, const std::function<bool(const Op&)>& belongs) {
  std::vector<int> ids;
  std::vector<double> bytes;
  for (const Op& op : program.ops) {
    if (!belongs(op)) continue;
    ids.push_back(op.id);
    bytes.push_back(*std::max_element(op.hbm_bytes.values.begin(), op.hbm_bytes.values.end()));
  }
  if (std::accumulate(bytes.begin(), bytes.end(), 0.0) <= 0) bytes.assign(ids.size(), 1.0);
  const auto parts = split_by_largest_remainder(std::llround(time.value * 1e9), bytes);
  for (std::size_t part = 0; part < ids.size(); ++part) program.ops[ids[part]].fixed_ns = parts[part];
}

}  // namespace

void hold_measured_times(Program& program, const MeasuredRest& measured) {
  hold(program, measured.lookup.time, [](const Op& op) { return op.op_class == OpClass::lookup; });
  hold(program, measured.update.time, [](const Op& op) { return op.op_class == OpClass::update; });
  hold(program, measured.dense_forward.time,
       [](const Op& op) { return op.role == OpRole::dense_forward || op.role == OpRole::bottom_forward; });
  hold(program, measured.dense_backward.time,
       [](const Op& op) { return op.role == OpRole::dense_backward || op.role == OpRole::bottom_backward; });
}

}  // namespace shardsim
