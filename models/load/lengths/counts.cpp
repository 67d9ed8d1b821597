#include <fmt/format.h>

#include <cmath>

#include "models/load/lengths/family.h"

// Lengths that count events: poisson, negative_binomial, and geometric, which is the latter with size 1.

namespace shardsim {
namespace {

class PoissonLengths : public LengthLaw::Family {
 public:
  explicit PoissonLengths(double mean) : mean_(mean) {}

  Cumulants cumulants() const override { return {mean_, mean_, mean_}; }

  double probability(std::int64_t length) const override {
    const auto x = static_cast<double>(length);
    return std::exp(x * std::log(mean_) - mean_ - std::lgamma(x + 1));
  }

  std::int64_t total(std::int64_t bags, const UniformStream& u) const override {
    return draw_poisson(u(0), static_cast<double>(bags) * mean_);
  }

  std::int64_t common_total(const FactorSums& factors, const UniformStream& u) const override {
    return draw_poisson(u(0), mean_ * factors.first);
  }

 private:
  double mean_;
};

class NegativeBinomialLengths : public LengthLaw::Family {
 public:
  NegativeBinomialLengths(double size, double mean) : size_(size), mean_(mean) {}

  Cumulants cumulants() const override {
    const double ratio = mean_ / size_;
    return {mean_, mean_ + mean_ * mean_ / size_, mean_ * (1 + ratio) * (1 + 2 * ratio)};
  }

  double probability(std::int64_t length) const override {
    const auto x = static_cast<double>(length);
    const double ways = std::lgamma(x + size_) - std::lgamma(size_) - std::lgamma(x + 1);
    return std::exp(ways - size_ * std::log1p(mean_ / size_) - x * std::log1p(size_ / mean_));
  }

  std::int64_t total(std::int64_t bags, const UniformStream& u) const override {
    const auto n = static_cast<double>(bags);
    return draw_negative_binomial(u(0), n * size_, n * mean_);
  }

  std::int64_t common_total(const FactorSums& factors, const UniformStream& u) const override {
    const double second = mean_ * mean_ * factors.second / size_;
    const double third = mean_ * mean_ * mean_ * factors.third / (size_ * size_);
    const double mean = mean_ * factors.first;
    return rounded_skew_draw(u(0), {mean, mean + second, mean + 3 * second + 2 * third});
  }

 private:
  double size_, mean_;
};

}  // namespace

LengthFamily make_poisson_lengths(const LengthInput& input) {
  return std::make_shared<PoissonLengths>(input.mean);
}

LengthFamily make_negative_binomial_lengths(const LengthInput& input) {
  const double size = input.spec.size;
  if (!(size >= kLeastLengthSize && size <= kMostLengthSize))
    throw input_error(input.place, fmt::format("the size of negative_binomial lengths is {}", size),
                      fmt::format("Give {} to {:g}; 1 is the geometric law", kLeastLengthSize, kMostLengthSize));
  return std::make_shared<NegativeBinomialLengths>(size, input.mean);
}

LengthFamily make_geometric_lengths(const LengthInput& input) {
  return std::make_shared<NegativeBinomialLengths>(1, input.mean);
}

}  // namespace shardsim
