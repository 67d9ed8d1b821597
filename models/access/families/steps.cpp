#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/access/families/family.h"

namespace shardsim {
namespace {

// Runs of rows of one weight each: what is left of a table's access counts when only their histogram is kept.
class Steps final : public EqualRuns {
 public:
  explicit Steps(const std::vector<AccessSpec::Step>& steps) {
    std::uint64_t end = 0;
    double mass = 0;
    for (const AccessSpec::Step& step : steps) {
      begin_run(end, step.weight, mass);
      end += step.rows;
      mass += static_cast<double>(step.rows) * step.weight;
    }
    begin_run(end, 0, mass);  // the rows that nobody looks up
  }
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
                        "The steps may cover fewer rows than the table has, but not more");
    left -= steps[i].rows;
  }
}

}  // namespace

FamilyPointer make_steps(const FamilyInput& input) {
  check_steps(input);
  return std::make_shared<Steps>(input.spec.steps);
}

}  // namespace shardsim
