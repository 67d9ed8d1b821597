#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/access/normal_quantile.h"
#include "models/load/lengths/family.h"

// Lengths floor(Y + U): Y = mu' exp(sigma Z - sigma^2 / 2), cut at `most`, and U uniform in [0, 1), which keeps the
// mean.

namespace shardsim {
namespace {

constexpr double kLongBags = 32;  // of more, so many on average are
constexpr double kNoise = 1e-14;  // of a central moment, against the power of the mean that it is taken from

double below(double z) {
  return upper_tail(-z);
}

// Y, before it is rounded.
struct CutLogNormal {
  double inner = 0;  // mu': the mean of what is cut
  double sigma = 0;
  double most = std::numeric_limits<double>::infinity();

  double limit() const { return (std::log(most / inner) + sigma * sigma / 2) / sigma; }  // zm: Z that `most` cuts
  double value(double z) const { return std::min(inner * std::exp(sigma * z - sigma * sigma / 2), most); }

  // E(Y^r) where Z is at most z.
  double moment(int r, double z) const {
    const double top = std::min(z, limit());
    const double grown = std::pow(inner, r) * std::exp((r * r - r) * sigma * sigma / 2) * below(top - r * sigma);
    const double cut = top < z ? std::pow(most, r) * (below(z) - below(top)) : 0;
    return (grown + cut) / below(z);
  }

  // Cumulants of a length whose Z is at most z: those of Y, with the variance that rounding adds.
  Cumulants cumulants(double z) const {
    const double m1 = moment(1, z), m2 = moment(2, z), m3 = moment(3, z);
    const double square = m2 - m1 * m1, cube = m3 - 3 * m1 * m2 + 2 * m1 * m1 * m1;
    const double variance = square > kNoise * m1 * m1 ? square : 0;
    const double third = std::abs(cube) > kNoise * m1 * m1 * m1 ? cube : 0;
    return {m1, variance + rounding_variance(m1, std::sqrt(variance)), third};
  }

  // E(Y - x)+ and E(x - Y)+, of the law before it is cut.
  double excess(double x) const {
    if (x <= 0) return inner - x;
    return inner * below(sigma - place(x)) - x * upper_tail(place(x));
  }
  double shortfall(double x) const { return x <= 0 ? 0 : x * below(place(x)) - inner * below(place(x) - sigma); }
  double place(double x) const { return (std::log(x / inner) + sigma * sigma / 2) / sigma; }  // Z where Y is x

  double cut_excess(double x) const {
    if (!std::isfinite(most)) return excess(x);
    return x < most ? excess(x) - excess(most) : 0;
  }
};

class LogNormalLengths : public LengthLaw::Family {
 public:
  LogNormalLengths(const CutLogNormal& law, double mean) : law_(law), mean_(mean) {}

  double inner_mean() const override { return law_.inner; }

  Cumulants cumulants() const override {
    if (std::isfinite(law_.most)) return law_.cumulants(std::numeric_limits<double>::infinity());
    const double w1 = std::expm1(law_.sigma * law_.sigma);
    const double variance = mean_ * mean_ * w1;
    return {mean_, variance + rounding_variance(mean_, std::sqrt(variance)), mean_ * variance * w1 * (w1 + 3)};
  }

  // P(length >= j) is the excess over j - 1 less that over j. Below the mean the shortfall has the same second
  // differences, without the loss of digits.
  double probability(std::int64_t length) const override {
    const auto j = static_cast<double>(length);
    const auto second = [&](auto&& f) { return f(j - 1) - 2 * f(j) + f(j + 1); };
    const bool low = j + 1 <= std::min(law_.inner, law_.most);
    return std::max(0.0, low ? second([&](double x) { return law_.shortfall(x); })
                             : second([&](double x) { return law_.cut_excess(x); }));
  }

  std::int64_t total(std::int64_t bags, const UniformStream& u) const override {
    return bags <= kSingleBags ? single_bags(bags, u) : body_and_long_bags(bags, u);
  }

  std::int64_t common_total(const FactorSums& factors, const UniformStream& u) const override {
    const double w1 = std::expm1(law_.sigma * law_.sigma), square = mean_ * mean_ * w1;
    const double third = mean_ * square * w1 * (w1 + 3);
    const double spread = std::sqrt(square * factors.second / static_cast<double>(factors.samples));
    const double rounding = static_cast<double>(factors.samples) * rounding_variance(mean_, spread);
    return rounded_skew_draw(u(0), {mean_ * factors.first, square * factors.second + rounding, third * factors.third});
  }

 private:
  std::int64_t rounded(double z, double u) const { return static_cast<std::int64_t>(std::floor(law_.value(z) + u)); }

  std::int64_t single_bags(std::int64_t bags, const UniformStream& u) const {
    std::int64_t sum = 0;
    for (std::uint64_t a = 0; a < static_cast<std::uint64_t>(bags); ++a)
      sum += rounded(normal_quantile(u(2 * a)), u(2 * a + 1));
    return sum;
  }

  // The longest bags are drawn one by one: they make the tail of the sum.
  std::int64_t body_and_long_bags(std::int64_t bags, const UniformStream& u) const {
    const double chance = kLongBags / static_cast<double>(bags);
    const std::int64_t long_bags = invert_binomial(u(0), bags, chance);
    const Cumulants one = law_.cumulants(upper_quantile(chance));
    const auto rest = static_cast<double>(bags - long_bags);
    std::int64_t sum = rounded_skew_draw(u(1), {rest * one.mean, rest * one.variance, rest * one.third});
    for (std::uint64_t l = 0; l < static_cast<std::uint64_t>(long_bags); ++l)
      sum += rounded(upper_quantile(chance * u(2 + 2 * l)), u(3 + 2 * l));
    return sum;
  }

  CutLogNormal law_;
  double mean_;
};

// mu' with which the cut law has the mean mu, by bisection over its logarithm.
double inner_mean_of(CutLogNormal law, double mean) {
  constexpr double kWidest = 300;  // natural logarithm of mu' / mu
  double low = 0, high = kWidest;
  for (int step = 0; step < 200; ++step) {
    const double middle = (low + high) / 2;
    law.inner = mean * std::exp(middle);
    (law.moment(1, std::numeric_limits<double>::infinity()) < mean ? low : high) = middle;
  }
  return mean * std::exp(high);
}

}  // namespace

LengthFamily make_log_normal_lengths(const LengthInput& input) {
  const LengthSpec& spec = input.spec;
  if (!(spec.sigma > 0 && spec.sigma <= kMostLengthSigma))
    throw input_error(input.place, fmt::format("sigma of log_normal lengths is {}", spec.sigma),
                      fmt::format("Give above 0 up to {}", kMostLengthSigma));
  CutLogNormal law{input.mean, spec.sigma};
  if (spec.most == 0) return std::make_shared<LogNormalLengths>(law, input.mean);
  if (spec.common)
    throw input_error(input.place, "log_normal lengths with 'most' cannot be common", "Leave out most or common");
  law.most = static_cast<double>(spec.most);
  if (!(law.most > input.mean))
    throw input_error(input.place,
                      fmt::format("bags have at most {} ids, but their mean is {:.7g}", spec.most, input.mean),
                      "Write a value of most that is above the mean length");
  law.inner = inner_mean_of(law, input.mean);
  return std::make_shared<LogNormalLengths>(law, input.mean);
}

}  // namespace shardsim
