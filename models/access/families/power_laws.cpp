#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/access/families/family.h"

namespace shardsim {
namespace {

using Knot = AccessSpec::Knot;

// Runs of power laws one behind the other, after a plateau of equal probabilities.
class PowerLaws final : public AccessDistribution::Family {
 public:
  PowerLaws(std::uint64_t plateau, double plateau_p) : plateau_(plateau), plateau_p_(plateau_p) {}

  void add(const PowerLaw& law, std::uint64_t first, std::uint64_t last) {
    segments_.push_back({PowerLawRun(law, first, last), mass_});
    mass_ += segments_.back().run.sum();
  }

  double probability(std::uint64_t position) const override {
    const std::uint64_t rank = position + 1;
    return rank <= plateau_ ? plateau_p_ : segment_of(rank).run.at(rank);
  }

  double prefix(std::uint64_t n) const override {
    if (n <= plateau_) return static_cast<double>(n) * plateau_p_;
    const Segment& segment = segment_of(n);
    return segment.mass_before + segment.run.sum_to(n);
  }

 private:
  struct Segment {
    PowerLawRun run;
    double mass_before = 0;
  };

  // The segment of a rank behind the plateau.
  const Segment& segment_of(std::uint64_t rank) const {
    return *std::ranges::lower_bound(segments_, rank, {}, [](const Segment& segment) { return segment.run.last(); });
  }

  std::uint64_t plateau_;
  double plateau_p_;
  double mass_ = static_cast<double>(plateau_) * plateau_p_;
  std::vector<Segment> segments_;
};

PowerLaw law_between(const Knot& low, const Knot& high) {
  const double log_ratio = std::log1p((high.rank - low.rank) / low.rank);
  return {std::exp(low.ln_p), low.rank, 0, (low.ln_p - high.ln_p) / log_ratio};
}

void check_knot(const Knot& knot, const FamilyInput& input) {
  const bool whole = knot.rank >= 1 && knot.rank == std::floor(knot.rank);
  if (!whole || knot.rank > static_cast<double>(input.rows))
    throw input_error(input.place, fmt::format("an access knot lies at rank {}", knot.rank),
                      fmt::format("Give whole ranks from 1 to {}", input.rows));
  if (!std::isfinite(knot.ln_p))
    throw input_error(input.place, "an access knot has no finite ln_p", "Give the natural logarithm of p");
}

void check_knots(const FamilyInput& input) {
  const std::vector<Knot>& knots = input.spec.knots;
  if (knots.empty()) throw input_error(input.place, "the access law has no knots", "Give at least one knot");
  for (std::size_t j = 0; j < knots.size(); ++j) {
    check_knot(knots[j], input);
    if (j == 0) continue;
    if (knots[j].rank <= knots[j - 1].rank)
      throw input_error(input.place, fmt::format("access knot {} does not lie behind knot {}", j + 1, j),
                        "List the knots by rising rank");
    if (knots[j].ln_p > knots[j - 1].ln_p)
      throw input_error(input.place, fmt::format("ln_p rises from access knot {} to {}", j, j + 1),
                        "Rows are sorted by falling popularity, so ln_p must not rise");
  }
  if (knots.back().rank != static_cast<double>(input.rows))
    throw input_error(input.place, fmt::format("the last access knot is at rank {}", knots.back().rank),
                      fmt::format("Put it at fraction 1 (rank {})", input.rows));
}

void check_parameter(double value, const char* name, const FamilyInput& input) {
  if (std::isfinite(value) && value >= 0) return;
  throw input_error(input.place, fmt::format("access parameter '{}' is {}", name, value),
                    "Give a finite number of 0 or more");
}

// p(i) = c (i + q)^-s; Zipf's law is q = 0.
FamilyPointer make_power(const FamilyInput& input, double q, double c) {
  check_parameter(input.spec.s, "s", input);
  check_parameter(q, "q", input);
  check_parameter(c, "c", input);
  // Relative to rank 1, so that no power of a large q underflows; the scale of a law without c is free.
  const double first = c > 0 ? c * std::pow(1 + q, -input.spec.s) : 1;
  auto family = std::make_shared<PowerLaws>(0, 0);
  family->add({first, 1 + q, q, input.spec.s}, 1, input.rows);
  return family;
}

}  // namespace

// ln p is linear in ln rank between knots and constant up to the first one (fitted to the FlexShard paper's Table 5).
FamilyPointer make_piecewise_power_law(const FamilyInput& input) {
  check_knots(input);
  const std::vector<Knot>& knots = input.spec.knots;
  auto family =
      std::make_shared<PowerLaws>(static_cast<std::uint64_t>(knots.front().rank), std::exp(knots.front().ln_p));
  for (std::size_t j = 0; j + 1 < knots.size(); ++j)
    family->add(law_between(knots[j], knots[j + 1]), static_cast<std::uint64_t>(knots[j].rank) + 1,
                static_cast<std::uint64_t>(knots[j + 1].rank));
  return family;
}

FamilyPointer make_zipf(const FamilyInput& input) {
  return make_power(input, 0, 0);
}

FamilyPointer make_zipf_mandelbrot(const FamilyInput& input) {
  return make_power(input, input.spec.q, input.spec.c);
}

}  // namespace shardsim
