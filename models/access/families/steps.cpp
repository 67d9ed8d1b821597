#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/access/families/family.h"

namespace shardsim {
namespace {

// Runs of rows of one weight each: what is left of a table's access counts when only their histogram is kept.
class Steps final : public AccessDistribution::Family {
 public:
  explicit Steps(const std::vector<AccessSpec::Step>& steps) {
    for (const AccessSpec::Step& step : steps) {
      runs_.push_back({end_, mass_, step.weight});
      end_ += step.rows;
      mass_ += static_cast<double>(step.rows) * step.weight;
    }
    runs_.push_back({end_, mass_, 0});  // the rows that nobody looks up
  }

  double probability(std::uint64_t position) const override { return run_of(position).weight; }

  double prefix(std::uint64_t n) const override {
    if (n == 0) return 0;
    const Run& run = run_of(n - 1);
    return run.mass_before + static_cast<double>(n - run.first) * run.weight;
  }

 private:
  struct Run {
    std::uint64_t first = 0;
    double mass_before = 0;
    double weight = 0;
  };

  const Run& run_of(std::uint64_t position) const {
    return *std::prev(std::ranges::upper_bound(runs_, position, {}, &Run::first));
  }

  std::vector<Run> runs_;
  std::uint64_t end_ = 0;
  double mass_ = 0;
};

void check_steps(const FamilyInput& input) {
  const std::vector<AccessSpec::Step>& steps = input.spec.steps;
  if (steps.empty()) throw input_error(input.place, "the access law has no steps", "Give at least one");
  std::uint64_t left = input.rows;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!std::isfinite(steps[i].weight) || steps[i].weight < 0)
      throw input_error(input.place, fmt::format("access weight {} is {}", i + 1, steps[i].weight),
                        "Give finite numbers of 0 or more");
    if (i > 0 && steps[i].weight > steps[i - 1].weight)
      throw input_error(input.place, fmt::format("the weight rises from access step {} to {}", i, i + 1),
                        "Rows are sorted by falling popularity: list the heaviest first");
    if (steps[i].rows == 0)
      throw input_error(input.place, fmt::format("access step {} has no rows", i + 1), "Leave it out");
    if (steps[i].rows > left)
      throw input_error(input.place, fmt::format("the access steps hold more than the table's {} rows", input.rows),
                        "Rows behind the last step may be left out, not added");
    left -= steps[i].rows;
  }
}

}  // namespace

FamilyPointer make_steps(const FamilyInput& input) {
  check_steps(input);
  return std::make_shared<Steps>(input.spec.steps);
}

}  // namespace shardsim
