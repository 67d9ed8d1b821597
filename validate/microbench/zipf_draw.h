#pragma once

#include <cstdint>

#include "base/rng.h"

namespace shardsim {

// Positions 0 ... n - 1 with probability in proportion to (position + 1)^-exponent, in constant time and memory:
// rejection-inversion (W. Hoermann, G. Derflinger, ACM TOMACS 6(3), 1996, 169-184). exponent above 0.
class ZipfDraw {
 public:
  ZipfDraw(std::int64_t n, double exponent);
  std::int64_t draw(Rng& rng) const;

 private:
  double integral(double x) const;  // of x^-exponent, up to a constant
  double inverse(double y) const;   // of integral
  double height(double x) const;

  double n_;
  double exponent_;
  double low_, high_;  // integral at 1.5 less the height at 1, and at n + 0.5
  double sure_;        // a draw so near to its rank is always taken
};

}  // namespace shardsim
