#pragma once

#include <cstdint>
#include <optional>

namespace shardsim::golden {

// The integer binary search of planner/utils.py for where a predicate turns false: ask `next` for a probe, tell it the
// answer there.
class BinarySearch {
 public:
  BinarySearch(std::int64_t left, std::int64_t right, std::int64_t tolerance)
      : left_(left), right_(right), tolerance_(tolerance) {}

  // nullopt: the interval is narrower than the tolerance, or empty. `answer`: the predicate at the last probe.
  std::optional<std::int64_t> next(bool answer) {
    if (probe_) (answer ? left_ : right_) = *probe_ + (answer ? 1 : -1);
    if (right_ < left_ || right_ - left_ < tolerance_) return std::nullopt;
    return probe_ = left_ + (right_ - left_) / 2;
  }

 private:
  std::int64_t left_, right_, tolerance_;
  std::optional<std::int64_t> probe_;
};

}  // namespace shardsim::golden
