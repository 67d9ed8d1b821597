#include "validate/comparison/operation_times.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardsim {
namespace {

constexpr double kMsPerUs = 1e-3;
OperationName name_of(const Timeline::OpInfo& op) {
  return {op.name, op.op_class == "all_to_all_v" ? "all_to_all" : op.op_class};
}

}  // namespace

OperationTimes::OperationTimes(const Timeline& timeline) {
  std::set<int> ran;
  for (const Span& span : timeline.spans) ran.insert(span.op);
  std::map<int, std::size_t> name_of_op;
  for (const int op : ran) {
    const OperationName name = name_of(timeline.ops.at(static_cast<std::size_t>(op)));
    const auto known = std::find(names_.begin(), names_.end(), name);
    name_of_op[op] = static_cast<std::size_t>(known - names_.begin());
    if (known == names_.end()) names_.push_back(name);
  }
  us_.resize(names_.size());
  for (const Span& span : timeline.spans)
    us_[name_of_op.at(span.op)][{span.iteration, span.rank}] += span.end_us - span.start_us;
}

std::vector<double> OperationTimes::ms(const std::vector<std::size_t>& operations) const {
  std::map<std::pair<int, int>, double> sums;
  for (const std::size_t operation : operations)
    for (const auto& [where, us] : us_[operation]) sums[where] += us;
  std::map<int, double> slowest;
  for (const auto& [where, us] : sums) {
    double& most = slowest[where.first];
    most = std::max(most, us);
  }
  std::vector<double> result;
  for (const auto& [iteration, us] : slowest) result.push_back(us * kMsPerUs);
  return result;
}

}  // namespace shardsim
