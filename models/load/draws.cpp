#include "models/load/draws.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "models/access/normal_quantile.h"
#include "models/access/row_hash.h"

namespace shardsim {

UniformStream::UniformStream(std::string_view table, std::uint64_t seed, std::uint64_t use, const DrawPoint& at)
    : key_(hash_key(table, seed, use)),
      first_((static_cast<std::uint64_t>(at.iteration) * static_cast<std::uint64_t>(at.world) +
              static_cast<std::uint64_t>(at.rank))
             << 32) {}

double UniformStream::operator()(std::uint64_t a) const {
  const std::uint64_t bits = mix(key_, (first_ + a) * kGolden) >> 11;
  // The largest of the 2^53 numbers would round to 1, which no quantile has.
  return std::min((static_cast<double>(bits) + 0.5) * 0x1.0p-53, 1 - 0x1.0p-53);
}

namespace {

constexpr double kSmallMean = 30;     // below it draws are inverted
constexpr double kSmallSize = 64;     // of a negative binomial: up to here its skewness is too large for a correction
constexpr double kMostPerSize = 1e4;  // mean / size up to which that is inverted

// The smallest x with u <= P(<= x), where P(0) = `first` and P(x + 1) = P(x) times ratio(x). Ends at `most`, or where a
// sum that rounding keeps below u no longer grows.
template <typename Ratio>
std::int64_t invert(double u, double first, double mean, std::int64_t most, const Ratio& ratio) {
  double term = first, sum = first;
  std::int64_t x = 0;
  while (u > sum && x < most) {
    term *= ratio(static_cast<double>(x));
    ++x;
    const double next = sum + term;
    if (next == sum && static_cast<double>(x) > mean) return x;
    sum = next;
  }
  return x;
}

}  // namespace

std::int64_t rounded_skew_draw(double u, const Cumulants& law) {
  const double spread = std::sqrt(std::max(0.0, law.variance));
  const double z = normal_quantile(u);
  const double skewness = spread > 0 ? law.third / (law.variance * spread) : 0;
  const double value = law.mean + spread * (z + skewness * (z * z - 1) / 6);
  return static_cast<std::int64_t>(std::max(0.0, std::floor(value + 0.5)));
}

std::int64_t invert_binomial(double u, std::int64_t n, double p) {
  const double count = static_cast<double>(n), odds = p / (1 - p);
  const double none = std::exp(count * std::log1p(-p));
  return invert(u, none, count * p, n, [&](double x) { return (count - x) / (x + 1) * odds; });
}

std::int64_t draw_binomial(double u, std::int64_t n, double p) {
  if (n <= 0 || !(p > 0)) return 0;
  if (p >= 1) return n;
  if (p > 0.5) return n - draw_binomial(1 - u, n, 1 - p);
  const double mean = static_cast<double>(n) * p;
  if (mean < kSmallMean) return invert_binomial(u, n, p);
  const double variance = mean * (1 - p);
  return std::min(n, rounded_skew_draw(u, {mean, variance, variance * (1 - 2 * p)}));
}

std::int64_t draw_poisson(double u, double mean) {
  if (!(mean > 0)) return 0;
  if (mean >= kSmallMean) return rounded_skew_draw(u, {mean, mean, mean});
  return invert(u, std::exp(-mean), mean, INT64_MAX, [&](double x) { return mean / (x + 1); });
}

std::int64_t draw_negative_binomial(double u, double size, double mean) {
  if (!(mean > 0)) return 0;
  const double ratio = mean / size;
  if (mean < kSmallMean || (size < kSmallSize && mean < kMostPerSize * size)) {
    const double none = std::exp(-size * std::log1p(ratio)), failure = mean / (size + mean);
    return invert(u, none, mean, INT64_MAX, [&](double x) { return (size + x) / (x + 1) * failure; });
  }
  return rounded_skew_draw(u, {mean, mean * (1 + ratio), mean * (1 + ratio) * (1 + 2 * ratio)});
}

std::vector<std::int64_t> draw_multinomial(const UniformStream& u, std::int64_t n, const std::vector<double>& shares) {
  std::vector<std::int64_t> counts(shares.size(), 0);
  std::size_t last = shares.size();
  while (last > 0 && !(shares[last - 1] > 0)) --last;
  double left = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (std::size_t a = 0; a < last && n > 0; ++a) {
    if (!(shares[a] > 0)) continue;
    counts[a] = a + 1 == last ? n : draw_binomial(u(a), n, std::min(1.0, shares[a] / left));
    n -= counts[a];
    left -= shares[a];
  }
  return counts;
}

FactorSums factor_sums(const SampleFactor& factor, std::int64_t samples, std::uint64_t seed, const DrawPoint& at) {
  const UniformStream u("", seed, kFactorDraws, at);
  const double sigma = factor.sigma;
  FactorSums sums{0, 0, 0, samples};
  for (std::int64_t a = 0; a < samples; ++a) {
    const double value = std::exp(sigma * normal_quantile(u(static_cast<std::uint64_t>(a))) - sigma * sigma / 2);
    sums.first += value;
    sums.second += value * value;
    sums.third += value * value * value;
  }
  return sums;
}

}  // namespace shardsim
