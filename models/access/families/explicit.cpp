#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/access/families/family.h"

namespace shardsim {
namespace {

// Given probabilities, kept as runs of equal ones: counts of a real table take few different values.
class Explicit final : public AccessDistribution::Family {
 public:
  explicit Explicit(const std::vector<double>& p) {
    double mass = 0, lost = 0;  // compensated: `lost` is what rounding took from the sum
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (runs_.empty() || p[i] != runs_.back().p) runs_.push_back({i, p[i], mass});
      const double term = p[i] - lost;
      const double next = mass + term;
      lost = (next - mass) - term;
      mass = next;
    }
  }

  double probability(std::uint64_t position) const override { return run_of(position).p; }

  double prefix(std::uint64_t n) const override {
    if (n == 0) return 0;
    const Run& run = run_of(n - 1);
    return run.mass_before + static_cast<double>(n - run.first) * run.p;
  }

 private:
  struct Run {
    std::uint64_t first = 0;
    double p = 0;
    double mass_before = 0;
  };

  const Run& run_of(std::uint64_t position) const {
    return *std::prev(std::ranges::upper_bound(runs_, position, {}, &Run::first));
  }

  std::vector<Run> runs_;
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
