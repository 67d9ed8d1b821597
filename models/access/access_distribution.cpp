#include "models/access/access_distribution.h"

#include <fmt/format.h>

#include <cmath>

#include "models/access/families/family.h"

namespace shardsim {
namespace {

constexpr double kLengthTolerance = 1e-4;  // between a given length and an absolute law's sum

// Smallest n of [low, high] for which `holds` is false, or high; `holds` may only change from true to false.
template <typename Predicate>
std::uint64_t partition_point(std::uint64_t low, std::uint64_t high, Predicate holds) {
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void check_sum(double sum, const Place& place) {
  if (std::isfinite(sum) && sum > 0) return;
  throw input_error(place, fmt::format("the sum of the access distribution is {}", sum),
                    "Choose parameters whose sum over all rows is finite and above 0");
}

// A sum that is nearly nothing cannot be scaled to a length: probabilities would be infinite, and bytes below 0.
void check_scale(double scale, double sum, const Place& place) {
  if (std::isfinite(scale) && std::isnormal(sum)) return;
  throw input_error(place, fmt::format("the sum of the access distribution is {}, too small to be scaled", sum),
                    "Give larger weights: only their ratios count");
}

void check_length(const AccessSpec& spec, double length, double sum, const Place& place) {
  if (std::isnan(length) || std::isinf(length))
    throw input_error(place, "the average length is not finite", "Give the expected items per sample");
  if (!spec.absolute() && length <= 0)
    throw input_error(place,
                      fmt::format("the access family '{}' does not say how many items a sample has", spec.family),
                      "Give average_length above 0");
  const bool differs = length > 0 && std::abs(sum - length) > kLengthTolerance * length;
  if (spec.absolute() && differs && !spec.rescale)
    throw input_error(
        place, fmt::format("the access probabilities add up to {:.7g}, the average length is {:.7g}", sum, length),
        "Correct one of them or say access.rescale: true");
}

}  // namespace

bool AccessSpec::absolute() const {
  if (family == "zipf_mandelbrot") return c > 0;
  return family == "piecewise_power_law" || family == "explicit" || family == "counts";
}

AccessDistribution::AccessDistribution(const AccessSpec& spec, std::uint64_t rows, double average_length,
                                       const Place& place)
    : rows_(rows) {
  if (rows == 0 || rows > kMostTableRows)
    throw input_error(place, fmt::format("a table has {} rows", rows), "Give 1 to 2^53 rows");
  family_ = make_family({spec, rows, place});
  const double sum = family_->prefix(rows);
  check_sum(sum, place);
  check_length(spec, average_length, sum, place);
  check_scale(average_length / sum, sum, place);
  const bool scaled = !spec.absolute() || (spec.rescale && average_length > 0);
  scale_ = scaled ? average_length / sum : 1;
  total_ = scaled ? average_length : sum;
}

double AccessDistribution::probability(std::uint64_t position) const {
  return position < rows_ ? scale_ * family_->probability(position) : 0;
}

double AccessDistribution::prefix(std::uint64_t n) const {
  return n < rows_ ? scale_ * family_->prefix(n) : total_;
}

std::uint64_t AccessDistribution::count_at_least(double p) const {
  return partition_point(0, rows_, [&](std::uint64_t i) { return probability(i) >= p; });
}

std::uint64_t AccessDistribution::position_between(std::uint64_t first, std::uint64_t last, double mass) const {
  return partition_point(first, last, [&](std::uint64_t i) { return !(prefix(i + 1) > mass); });
}

}  // namespace shardsim
