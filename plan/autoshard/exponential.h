#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace shardsim {

// exp(x) by the same additions and products on every machine, within 1e-14 relative; the C library's differs in its
// last bits between processors, and a policy's choices would with it. |x| is taken as at most 700.
inline double exponential(double x) {
  constexpr double kPerLn2 = 1.4426950408889634, kLn2High = 6.93147180369123816490e-01,
                   kLn2Low = 1.90821492927058770002e-10;
  x = std::clamp(x, -700.0, 700.0);
  const double power = std::floor(x * kPerLn2 + 0.5);
  const double rest = (x - power * kLn2High) - power * kLn2Low;
  double sum = 1;
  for (int term = 13; term > 0; --term) sum = 1 + sum * rest / term;
  return sum * std::bit_cast<double>((static_cast<std::int64_t>(power) + 1023) << 52);
}

inline double sigmoid(double x) {
  return 1 / (1 + exponential(-x));
}

inline double hyperbolic_tangent(double x) {
  return 1 - 2 / (1 + exponential(2 * x));
}

}  // namespace shardsim
