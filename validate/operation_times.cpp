#include "validate/operation_times.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardsim {
namespace {

constexpr double kMsPerUs = 1e-3;
constexpr double kDidNotRun = -1;

OperationName name_of(const Timeline::OpInfo& op) {
  return {op.name, op.op_class == "all_to_all_v" ? "all_to_all" : op.op_class};
}

std::map<int, std::size_t> positions_of_iterations(const Timeline& timeline) {
  std::map<int, std::size_t> positions;
  for (const Span& span : timeline.spans) positions.try_emplace(span.iteration, 0);
  std::size_t next = 0;
  for (auto& [iteration, position] : positions) position = next++;
  return positions;
}

}  // namespace

OperationTimes::OperationTimes(const Timeline& timeline) {
  const std::map<int, std::size_t> iterations = positions_of_iterations(timeline);
  iterations_ = iterations.size();
  ranks_ = static_cast<std::size_t>(timeline.world_size);
  std::set<int> ran;
  for (const Span& span : timeline.spans) ran.insert(span.op);
  std::map<int, std::size_t> name_of_op;
  for (const int op : ran) {
    const OperationName name = name_of(timeline.ops.at(static_cast<std::size_t>(op)));
    const auto known = std::find(names_.begin(), names_.end(), name);
    name_of_op[op] = static_cast<std::size_t>(known - names_.begin());
    if (known == names_.end()) names_.push_back(name);
  }
  us_.assign(names_.size(), std::vector<double>(iterations_ * ranks_, kDidNotRun));
  for (const Span& span : timeline.spans) {
    double& sum =
        us_[name_of_op.at(span.op)][iterations.at(span.iteration) * ranks_ + static_cast<std::size_t>(span.rank)];
    sum = std::max(sum, 0.0) + (span.end_us - span.start_us);
  }
}

std::vector<double> OperationTimes::ms(const std::vector<std::size_t>& operations) const {
  std::vector<double> result;
  for (std::size_t iteration = 0; iteration < iterations_; ++iteration) {
    double slowest = kDidNotRun;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      double sum = kDidNotRun;
      for (const std::size_t operation : operations) {
        const double us = us_[operation][iteration * ranks_ + rank];
        if (us >= 0) sum = std::max(sum, 0.0) + us;
      }
      slowest = std::max(slowest, sum);
    }
    if (slowest >= 0) result.push_back(slowest * kMsPerUs);
  }
  return result;
}

}  // namespace shardsim
