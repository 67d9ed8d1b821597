#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/load/lengths/family.h"

// Lengths that are listed or have an end: fixed, uniform_int, histogram.

namespace shardsim {
namespace {

constexpr std::int64_t kMostLength = 1LL << 31;
constexpr double kShareTolerance = 1e-6;  // between the sum of a histogram's shares and 1
constexpr double kMeanTolerance = 1e-4;   // relative

class FixedLengths : public LengthLaw::Family {
 public:
  explicit FixedLengths(double mean) : mean_(mean) {}

  Cumulants cumulants() const override { return {mean_, 0, 0}; }

  // A mean that is not whole lies between its two neighbours, as bags of a batch do.
  double probability(std::int64_t length) const override {
    return std::max(0.0, 1 - std::abs(static_cast<double>(length) - mean_));
  }

  std::int64_t total(std::int64_t bags, const UniformStream&) const override {
    return static_cast<std::int64_t>(std::floor(mean_ * static_cast<double>(bags) + 0.5));
  }

  std::int64_t common_total(const FactorSums& factors, const UniformStream& u) const override {
    const auto n = static_cast<double>(factors.samples);
    const double factor = factors.first / n;
    const double spread = mean_ * std::sqrt(std::max(0.0, factors.second / n - factor * factor));
    return rounded_skew_draw(u(0), {mean_ * factors.first, n * rounding_variance(mean_ * factor, spread), 0});
  }

 private:
  double mean_;
};

class UniformLengths : public LengthLaw::Family {
 public:
  UniformLengths(std::int64_t low, std::int64_t high) : low_(low), count_(static_cast<double>(high - low + 1)) {}

  Cumulants cumulants() const override {
    return {static_cast<double>(low_) + (count_ - 1) / 2, (count_ * count_ - 1) / 12, 0};
  }

  double probability(std::int64_t length) const override {
    return length >= low_ && static_cast<double>(length - low_) < count_ ? 1 / count_ : 0;
  }

  std::int64_t total(std::int64_t bags, const UniformStream& u) const override {
    const auto n = static_cast<double>(bags);
    const Cumulants one = cumulants();
    if (bags > kSingleBags) return rounded_skew_draw(u(0), {n * one.mean, n * one.variance, 0});
    std::int64_t sum = 0;
    for (std::int64_t a = 0; a < bags; ++a)
      sum += low_ + static_cast<std::int64_t>(std::floor(count_ * u(static_cast<std::uint64_t>(a))));
    return sum;
  }

 private:
  std::int64_t low_;
  double count_;
};

class HistogramLengths : public LengthLaw::Family {
 public:
  explicit HistogramLengths(std::vector<LengthSpec::Bin> bins) : bins_(std::move(bins)) {}

  Cumulants cumulants() const override {
    Cumulants law;
    for (const auto& bin : bins_) law.mean += bin.share * static_cast<double>(bin.length);
    for (const auto& bin : bins_) {
      const double off = static_cast<double>(bin.length) - law.mean;
      law.variance += bin.share * off * off;
      law.third += bin.share * off * off * off;
    }
    return law;
  }

  double probability(std::int64_t length) const override {
    double sum = 0;
    for (const auto& bin : bins_) sum += bin.length == length ? bin.share : 0;
    return sum;
  }

  std::int64_t total(std::int64_t bags, const UniformStream& u) const override {
    std::vector<double> shares;
    for (const auto& bin : bins_) shares.push_back(bin.share);
    const std::vector<std::int64_t> counts = draw_multinomial(u, bags, shares);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < bins_.size(); ++i) sum += counts[i] * bins_[i].length;
    return sum;
  }

 private:
  std::vector<LengthSpec::Bin> bins_;
};

void check_bag_length(std::int64_t length, const Place& place) {
  if (length >= 0 && length <= kMostLength) return;
  throw input_error(place, fmt::format("a bag of {} ids", length), fmt::format("Give 0 to {}", kMostLength));
}

void check_bins(const LengthInput& input) {
  double sum = 0;
  for (const LengthSpec::Bin& bin : input.spec.lengths) {
    check_bag_length(bin.length, input.place);
    if (!std::isfinite(bin.share) || bin.share < 0)
      throw input_error(input.place, fmt::format("a share of {} of the bags", bin.share), "Give 0 to 1");
    sum += bin.share;
  }
  if (std::abs(sum - 1) > kShareTolerance)
    throw input_error(input.place, fmt::format("the shares of the lengths add up to {:.7g}", sum),
                      "The shares of all lengths must add up to 1");
}

}  // namespace

LengthFamily make_fixed_lengths(const LengthInput& input) {
  return std::make_shared<FixedLengths>(input.mean);
}

LengthFamily make_uniform_lengths(const LengthInput& input) {
  const std::int64_t low = input.spec.low, high = input.spec.high;
  check_bag_length(low, input.place);
  check_bag_length(high, input.place);
  if (high < low)
    throw input_error(input.place, fmt::format("lengths from {} to {}", low, high), "low must not be above high");
  auto family = std::make_shared<UniformLengths>(low, high);
  const double mean = family->cumulants().mean;
  if (std::abs(mean - input.mean) > kMeanTolerance * input.mean) throw impossible_mean(input, mean);
  return family;
}

LengthFamily make_histogram_lengths(const LengthInput& input) {
  check_bins(input);
  auto family = std::make_shared<HistogramLengths>(input.spec.lengths);
  const double mean = family->cumulants().mean;
  if (std::abs(mean - input.mean) > kMeanTolerance * input.mean) throw impossible_mean(input, mean);
  return family;
}

}  // namespace shardsim
