#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/access/families/family.h"

namespace shardsim {
namespace {

using Knot = AccessSpec::Knot;

// ln p is linear in ln rank between knots and constant up to the first one (fitted to the FlexShard paper's Table 5).
class PiecewisePowerLaw final : public AccessDistribution::Family {
 public:
  explicit PiecewisePowerLaw(const std::vector<Knot>& knots);
  double probability(std::uint64_t position) const override;
  double prefix(std::uint64_t n) const override;

 private:
  struct Segment {
    PowerLawRun run;
    double mass_before = 0;
  };
  // The segment of a rank behind the plateau.
  const Segment& segment_of(std::uint64_t rank) const;

  std::uint64_t plateau_ = 0;
  double plateau_p_ = 0;
  std::vector<Segment> segments_;
};

PowerLaw law_between(const Knot& low, const Knot& high) {
  const double log_ratio = std::log1p((high.rank - low.rank) / low.rank);
  return {std::exp(low.ln_p), low.rank, 0, (low.ln_p - high.ln_p) / log_ratio};
}

PiecewisePowerLaw::PiecewisePowerLaw(const std::vector<Knot>& knots)
    : plateau_(static_cast<std::uint64_t>(knots.front().rank)), plateau_p_(std::exp(knots.front().ln_p)) {
  double mass = static_cast<double>(plateau_) * plateau_p_;
  for (std::size_t j = 0; j + 1 < knots.size(); ++j) {
    const auto first = static_cast<std::uint64_t>(knots[j].rank) + 1;
    const auto last = static_cast<std::uint64_t>(knots[j + 1].rank);
    segments_.push_back({PowerLawRun(law_between(knots[j], knots[j + 1]), first, last), mass});
    mass += segments_.back().run.sum();
  }
}

const PiecewisePowerLaw::Segment& PiecewisePowerLaw::segment_of(std::uint64_t rank) const {
  const auto ends_before = [](const Segment& segment, std::uint64_t wanted) { return segment.run.last() < wanted; };
  return *std::lower_bound(segments_.begin(), segments_.end(), rank, ends_before);
}

double PiecewisePowerLaw::probability(std::uint64_t position) const {
  const std::uint64_t rank = position + 1;
  return rank <= plateau_ ? plateau_p_ : segment_of(rank).run.at(rank);
}

double PiecewisePowerLaw::prefix(std::uint64_t n) const {
  if (n <= plateau_) return static_cast<double>(n) * plateau_p_;
  const Segment& segment = segment_of(n);
  return segment.mass_before + segment.run.sum_to(n);
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
                        "Give knots by rising rank");
    if (knots[j].ln_p > knots[j - 1].ln_p)
      throw input_error(input.place, fmt::format("ln_p rises from access knot {} to {}", j, j + 1),
                        "Rows are sorted by falling popularity: let ln_p fall");
  }
  if (knots.back().rank != static_cast<double>(input.rows))
    throw input_error(input.place, fmt::format("the last access knot is at rank {}", knots.back().rank),
                      fmt::format("Put it at fraction 1 (rank {})", input.rows));
}

}  // namespace

FamilyPointer make_piecewise_power_law(const FamilyInput& input) {
  check_knots(input);
  return std::make_shared<PiecewisePowerLaw>(input.spec.knots);
}

}  // namespace shardsim
