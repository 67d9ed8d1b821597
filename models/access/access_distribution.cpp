#include "models/access/access_distribution.h"

#include <fmt/format.h>

#include <algorithm>
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

using Share = ObservedAccess::Share;

// Observed share of the first n rows: between two given points it follows the planned prefix sum.
double observed_share(const std::vector<Share>& shares, const AccessDistribution& planned, std::uint64_t n) {
  if (n == 0) return 0;
  if (n >= planned.rows()) return 1;
  const auto ends_before = [](const Share& share, std::uint64_t wanted) { return share.rows < wanted; };
  const auto next = std::lower_bound(shares.begin(), shares.end(), n, ends_before);
  const Share low = next == shares.begin() ? Share{0, 0} : *std::prev(next);
  const Share high = next == shares.end() ? Share{planned.rows(), 1} : *next;
  const double mass = planned.sum(low.rows, high.rows);
  // Rows that were planned without any access share what was observed evenly.
  const double part = mass > 0 ? planned.sum(low.rows, n) / mass
                               : static_cast<double>(n - low.rows) / static_cast<double>(high.rows - low.rows);
  return low.share + part * (high.share - low.share);
}

constexpr std::int64_t kMostCuts = std::int64_t{1} << 20;
constexpr std::int64_t kSearchesPerCut = 4;  // a cut costs about as much as it saves over so many searches

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

double AccessDistribution::expected_distinct(std::uint64_t first, std::uint64_t end, double draws) const {
  end = std::min(end, rows_);
  if (first >= end || !(draws > 0)) return 0;
  const Draws interval{sum(first, end), draws};
  if (!(interval.total > 0)) return 0;
  return BlockSum(*this, interval).over(first, end);
}

double ObservedAccess::sum(const AccessDistribution& planned, std::uint64_t first, std::uint64_t end) const {
  if (first >= end) return 0;
  const double length = average_length > 0 ? average_length : planned.total();
  return length * (observed_share(shares, planned, end) - observed_share(shares, planned, first));
}

PositionSearch::PositionSearch(const AccessDistribution& access, double begin, double end, std::int64_t searches)
    : access_(access), begin_(begin) {
  const std::int64_t steps = std::clamp<std::int64_t>(searches / kSearchesPerCut, 1, kMostCuts);
  step_ = (end - begin) / static_cast<double>(steps);
  cuts_.resize(static_cast<std::size_t>(steps) + 1);
  cuts_.front() = access.position_at(begin);
  cuts_.back() = access.position_at(end);
  cut(0, cuts_.size() - 1);
}

// The cuts between two that are known, halved again and again: each is searched for between its neighbours alone.
void PositionSearch::cut(std::size_t first, std::size_t last) {
  if (last - first < 2) return;
  const std::size_t middle = first + (last - first) / 2;
  cuts_[middle] = access_.position_between(cuts_[first], cuts_[last], mass_of(middle));
  cut(first, middle);
  cut(middle, last);
}

std::uint64_t PositionSearch::position_at(double mass) const {
  if (!(step_ > 0)) return access_.position_at(mass);
  // The mass of a cut is rounded, and so is the quotient: the neighbours on both sides hold the mass for sure.
  const auto last = static_cast<double>(cuts_.size() - 1);
  const auto at = static_cast<std::size_t>(std::clamp((mass - begin_) / step_, 0.0, last));
  const std::size_t low = at > 0 ? at - 1 : 0, high = std::min(at + 2, cuts_.size() - 1);
  return access_.position_between(cuts_[low], cuts_[high], mass);
}

}  // namespace shardsim
