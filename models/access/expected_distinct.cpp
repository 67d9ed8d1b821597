#include <algorithm>
#include <cmath>

#include "models/access/access_distribution.h"

namespace shardsim {
namespace {

// Half the width of the bounds of one block, relative to it, at which a block is not split further.
constexpr double kBlockTolerance = 5e-4;

struct Draws {
  double total = 0;  // S: sum of p over the interval
  double count = 0;

  // Probability that a row of probability p is met at least once.
  double met(double p) const {
    const double q = std::min(p / total, 1.0);
    return q <= 0 ? 0 : -std::expm1(count * std::log1p(-q));
  }
};

// Sum of met(p) over one block of rows, from its two end probabilities and its mass alone. met() is concave in p
// (convex below one draw), so Jensen's inequality bounds the sum on one side and the chord between the ends on the
// other: the result is the middle of two true bounds, and a block is halved (in rank, geometrically) until they are
// near.
class BlockSum {
 public:
  BlockSum(const AccessDistribution& rows, const Draws& draws) : rows_(rows), draws_(draws) {}

  double over(std::uint64_t first, std::uint64_t end) const {
    const double high = rows_.probability(first), low = rows_.probability(end - 1);
    const auto n = static_cast<double>(end - first);
    if (low >= high) return n * draws_.met(high);
    const double mean = std::clamp(rows_.sum(first, end) / n, low, high);
    const double at_mean = draws_.met(mean), at_low = draws_.met(low), at_high = draws_.met(high);
    const double chord = at_low + (mean - low) / (high - low) * (at_high - at_low);
    if (end - first <= 2) return n * chord;  // both rows are ends
    if (std::abs(at_mean - chord) <= 2 * kBlockTolerance * std::min(at_mean, chord)) return n * 0.5 * (at_mean + chord);
    const std::uint64_t middle = split(first, end);
    return over(first, middle) + over(middle, end);
  }

 private:
  static std::uint64_t split(std::uint64_t first, std::uint64_t end) {
    const double geometric = std::sqrt((static_cast<double>(first) + 1) * (static_cast<double>(end) + 1)) - 1;
    return std::clamp(static_cast<std::uint64_t>(geometric), first + 1, end - 1);
  }

  const AccessDistribution& rows_;
  const Draws& draws_;
};

}  // namespace

double AccessDistribution::expected_distinct(std::uint64_t first, std::uint64_t end, double draws) const {
  end = std::min(end, rows_);
  if (first >= end || !(draws > 0)) return 0;
  const Draws interval{sum(first, end), draws};
  if (!(interval.total > 0)) return 0;
  return BlockSum(*this, interval).over(first, end);
}

}  // namespace shardsim
