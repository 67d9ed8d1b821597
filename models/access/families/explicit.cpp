#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/access/families/family.h"

namespace shardsim {
namespace {

// Given probabilities, kept as runs of equal ones: counts of a real table take few different values.
class Explicit final : public EqualRuns {
 public:
  explicit Explicit(const std::vector<double>& p) {
    double mass = 0, lost = 0;  // compensated: `lost` is what rounding took from the sum
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (!goes_on(p[i])) begin_run(i, p[i], mass);
      const double term = p[i] - lost;
      const double next = mass + term;
      lost = (next - mass) - term;
      mass = next;
    }
  }
};

void check_probabilities(const FamilyInput& input) {
  const std::vector<double>& p = input.spec.p;
  if (p.size() != input.rows)
    throw input_error(input.place, fmt::format("the access law lists {} rows, the table has {}", p.size(), input.rows),
                      "Give one number per row");
  for (std::size_t i = 0; i < p.size(); ++i)
    if (!std::isfinite(p[i]) || p[i] < 0)
      throw input_error(input.place, fmt::format("an access probability is {}", p[i]), "Give numbers of 0 or more");
  if (!std::is_sorted(p.rbegin(), p.rend()))
    throw input_error(input.place, "the access probabilities are not sorted", "Sort them from the largest down");
}

}  // namespace

FamilyPointer make_explicit(const FamilyInput& input) {
  check_probabilities(input);
  return std::make_shared<Explicit>(input.spec.p);
}

}  // namespace shardsim
