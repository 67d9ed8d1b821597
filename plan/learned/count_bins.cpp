#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "plan/learned/table_features.h"

namespace shardsim {
namespace {

constexpr double kDirect = 32;         // expected count up to which the terms of the binomial law are added up
constexpr double kBlockChange = 0.01;  // of the distinct rows: what a block may change a bin by, at most
constexpr double kNegligible = 1e-9;

double upper_edge(int bin) {
  return std::ldexp(1.0, bin);
}

// The law of how often one row of share `q` is met in `draws` draws.
class RowCount {
 public:
  RowCount(double draws, double q)
      : draws_(draws), q_(std::min(q, 1.0)), met_(q_ < 1 ? -std::expm1(draws * std::log1p(-q_)) : 1) {}

  // P(1 <= count <= upper edge) for every bin; the last one has no upper edge.
  CountBins met_at_most() const {
    CountBins result = draws_ * q_ <= kDirect && q_ < 1 ? added_up() : by_normal_law();
    result.back() = met_;
    return result;
  }

 private:
  CountBins added_up() const {
    CountBins result;
    result.fill(met_);
    double term = 1 - met_, met = 0;
    int bin = 0;
    for (double count = 1; bin < kCountBins && met_ - met > kNegligible * met_; ++count) {
      term *= (draws_ - count + 1) / count * (q_ / (1 - q_));
      met += term;
      if (count == upper_edge(bin)) result[static_cast<std::size_t>(bin++)] = met;
    }
    return result;
  }

  // With the first correction for skewness (Edgeworth): within 0.002 from 32 expected meetings on.
  CountBins by_normal_law() const {
    CountBins result;
    const double deviation = std::sqrt(draws_ * q_ * (1 - q_));
    for (int bin = 0; bin < kCountBins; ++bin)
      result[static_cast<std::size_t>(bin)] = std::clamp(below(upper_edge(bin), deviation) - (1 - met_), 0.0, 1.0);
    return result;
  }

  double below(double edge, double deviation) const {
    if (deviation == 0) return edge >= draws_ ? 1 : 0;
    const double z = (edge + 0.5 - draws_ * q_) / deviation;
    if (std::abs(z) > 8) return z > 0 ? 1 : 0;
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    return std::erfc(-z / std::numbers::sqrt2) / 2 - (1 - 2 * q_) / (6 * deviation) * (z * z - 1) * density;
  }

  double draws_, q_;
  double met_;  // P(count >= 1)
};

// The sum of met_at_most() over rows in popularity order. Between the ends of a block it lies between their values, so
// a block is halved (in rank, geometrically) until these are near.
class RowSum {
 public:
  RowSum(const AccessDistribution& access, double draws)
      : access_(access),
        draws_(draws),
        most_change_(kBlockChange * access.expected_distinct(0, access.rows(), draws)) {}

  CountBins all() {
    const std::uint64_t last = access_.rows() - 1;
    add(0, access_.rows(), at(access_.probability(0)), at(access_.probability(last)));
    return sum_;
  }

 private:
  CountBins at(double p) const { return RowCount(draws_, p / access_.total()).met_at_most(); }

  void add(std::uint64_t first, std::uint64_t end, const CountBins& high, const CountBins& low) {
    const auto rows = static_cast<double>(end - first);
    double change = 0;
    for (std::size_t bin = 0; bin < kCountBins; ++bin) change = std::max(change, std::abs(high[bin] - low[bin]));
    if (change == 0) return take(rows, high);
    if (end - first == 2) return take(1, high), take(1, low);
    if (rows * change <= most_change_) return take(rows, at(access_.sum(first, end) / rows));
    const std::uint64_t middle = split(first, end);
    const CountBins before = middle - first == 1 ? high : at(access_.probability(middle - 1));
    const CountBins after = end - middle == 1 ? low : at(access_.probability(middle));
    add(first, middle, high, before);
    add(middle, end, after, low);
  }

  void take(double rows, const CountBins& each) {
    for (std::size_t bin = 0; bin < kCountBins; ++bin) sum_[bin] += rows * each[bin];
  }

  static std::uint64_t split(std::uint64_t first, std::uint64_t end) {
    const double geometric = std::sqrt((static_cast<double>(first) + 1) * (static_cast<double>(end) + 1)) - 1;
    return std::clamp(static_cast<std::uint64_t>(geometric), first + 1, end - 1);
  }

  const AccessDistribution& access_;
  double draws_;
  double most_change_;
  CountBins sum_{};
};

}  // namespace

CountBins expected_count_bins(const AccessDistribution& access, double lookups) {
  const double draws = std::round(lookups);
  CountBins bins{};
  if (!(draws >= 1) || !(access.total() > 0)) return bins;
  const CountBins met = RowSum(access, draws).all();
  if (!(met.back() > 0)) return bins;
  for (std::size_t bin = 0; bin < kCountBins; ++bin)
    bins[bin] = std::max(0.0, met[bin] - (bin == 0 ? 0 : met[bin - 1])) / met.back();
  return bins;
}

}  // namespace shardsim
