#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/access/normal_quantile.h"
#include "models/learned/table_features.h"

namespace shardsim {
namespace {

constexpr double kDirect = 32;               // expected count up to which the terms of the binomial law are added up
constexpr double kBlockOff = 0.002;          // of the distinct rows: how far apart the two answers for a block may be
constexpr double kMostDirect = 4 * kDirect;  // beyond which they are negligible
constexpr double kNegligibleShare = 1e-9;

double upper_edge(int bin) {
  return std::ldexp(1.0, bin);
}

// The law of how often one row of share `q` is met in `draws` draws.
class RowCount {
 public:
  RowCount(double draws, double q) : draws_(draws), q_(std::min(q, 1.0)) {
    const double log_none = q_ < 1 ? draws * std::log1p(-q_) : -HUGE_VAL;
    none_ = std::exp(log_none);
    met_ = -std::expm1(log_none);
  }

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
    double term = none_, met = 0;
    int bin = 0;
    for (double count = 1; count <= kMostDirect && met_ - met > kNegligibleShare * met_; ++count) {
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
      result[static_cast<std::size_t>(bin)] = std::clamp(below(upper_edge(bin), deviation) - none_, 0.0, 1.0);
    return result;
  }

  double below(double edge, double deviation) const {
    if (deviation == 0) return edge >= draws_ ? 1 : 0;
    const double z = (edge + 0.5 - draws_ * q_) / deviation;
    if (std::abs(z) > 8) return z > 0 ? 1 : 0;
    return upper_tail(-z) - (1 - 2 * q_) / (6 * deviation) * (z * z - 1) * normal_density(z);
  }

  double draws_, q_;
  double none_, met_;  // P(count = 0), P(count >= 1)
};

// The sum of met_at_most() over rows in popularity order. Over a block of rows it is taken at their mean probability,
// and again on the chord between the block's ends; where the two are near, their middle is the answer, else the block
// is halved (in rank, geometrically).
class RowSum {
 public:
  RowSum(const AccessDistribution& access, double draws)
      : access_(access), draws_(draws), most_off_(kBlockOff * access.expected_distinct(0, access.rows(), draws)) {}

  CountBins all() {
    const std::uint64_t last = access_.rows() - 1;
    add({0, access_.rows(), end_at(0), end_at(last)});
    return sum_;
  }

 private:
  struct End {
    double p = 0;
    CountBins met;
  };
  struct Block {
    std::uint64_t first = 0, end = 0;
    End high, low;  // its first and its last row
    double rows() const { return static_cast<double>(end - first); }
  };

  CountBins at(double p) const { return RowCount(draws_, p / access_.total()).met_at_most(); }
  End end_at(std::uint64_t position) const {
    const double p = access_.probability(position);
    return {p, at(p)};
  }

  void add(const Block& block) {
    const double span = block.high.p - block.low.p;
    if (span <= 0) return take(block.rows(), block.high.met);
    const double mean = std::clamp(access_.sum(block.first, block.end) / block.rows(), block.low.p, block.high.p);
    const double share = (mean - block.low.p) / span;
    CountBins middle = at(mean);
    double off = 0;
    for (std::size_t bin = 0; bin < kCountBins; ++bin) {
      const double chord = block.low.met[bin] + share * (block.high.met[bin] - block.low.met[bin]);
      off = std::max(off, std::abs(chord - middle[bin]));
      middle[bin] = block.end - block.first == 2 ? chord : (chord + middle[bin]) / 2;
    }
    if (block.end - block.first == 2 || block.rows() * off <= most_off_) return take(block.rows(), middle);
    halve(block);
  }

  void halve(const Block& block) {
    const std::uint64_t middle = split(block.first, block.end);
    const End before = middle - block.first == 1 ? block.high : end_at(middle - 1);
    const End after = block.end - middle == 1 ? block.low : end_at(middle);
    add({block.first, middle, block.high, before});
    add({middle, block.end, after, block.low});
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
  double most_off_;
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
