#include "models/access/normal_quantile.h"

#include <cmath>
#include <numbers>

namespace shardsim {

double upper_tail(double z) {
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}

double normal_density(double z) {
  return std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
}

// Our own, and not Boost.Math's, because the validator is built on compute nodes without Boost (validate/bare/) and
// must have the same digits; a test compares the two. Start: Abramowitz and Stegun, 26.2.23 (error 4.5e-4); two Halley
// steps, each of third order, bring it to rounding.
double upper_quantile(double x) {
  const double t = std::sqrt(-2 * std::log(x));
  double z = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (int step = 0; step < 2; ++step) {
    const double newton = (upper_tail(z) - x) / normal_density(z);
    z += newton / (1 - 0.5 * z * newton);
  }
  return z;
}

double normal_quantile(double share) {
  return share < 0.5 ? -upper_quantile(share) : upper_quantile(1 - share);
}

}  // namespace shardsim
