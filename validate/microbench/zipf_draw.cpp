#include "validate/microbench/zipf_draw.h"

#include <algorithm>
#include <cmath>

namespace shardsim {
namespace {

constexpr double kTiny = 1e-8;

// (e^x - 1) / x and log(1 + x) / x, also near 0.
double expm1_over(double x) {
  return std::abs(x) > kTiny ? std::expm1(x) / x : 1 + x / 2;
}
double log1p_over(double x) {
  return std::abs(x) > kTiny ? std::log1p(x) / x : 1 - x / 2;
}

}  // namespace

ZipfDraw::ZipfDraw(std::int64_t n, double exponent)
    : n_(static_cast<double>(n)),
      exponent_(exponent),
      low_(integral(1.5) - 1),
      high_(integral(n_ + 0.5)),
      sure_(2 - inverse(integral(2.5) - height(2))) {}

double ZipfDraw::integral(double x) const {
  const double log_x = std::log(x);
  return expm1_over((1 - exponent_) * log_x) * log_x;
}

double ZipfDraw::inverse(double y) const {
  const double t = std::max(y * (1 - exponent_), -1.0);
  return std::exp(log1p_over(t) * y);
}

double ZipfDraw::height(double x) const {
  return std::exp(-exponent_ * std::log(x));
}

std::int64_t ZipfDraw::draw(Rng& rng) const {
  while (true) {
    const double y = high_ + rng.uniform() * (low_ - high_);
    const double x = inverse(y);
    const double rank = std::clamp(std::floor(x + 0.5), 1.0, n_);
    if (rank - x <= sure_ || y >= integral(rank + 0.5) - height(rank)) return static_cast<std::int64_t>(rank) - 1;
  }
}

}  // namespace shardsim
