#include "plan/torchrec/spec/exact_ratio.h"

#include <cmath>

#include "plan/torchrec/spec/planner_error.h"

namespace shardsim::torchrec {

// Long division until the quotient has more bits than a double, then the remainder as a sticky bit; the conversion from
// 128 bits rounds once.
double exact_ratio(Wide numerator, Wide denominator) {
  constexpr Wide kEnough = Wide{1} << 55;
  Wide quotient = numerator / denominator;
  Wide rest = numerator % denominator;
  int shift = 0;
  while (rest != 0 && quotient < kEnough && shift < 200) {
    rest <<= 1;
    quotient <<= 1;
    ++shift;
    if (rest >= denominator) {
      rest -= denominator;
      quotient |= 1;
    }
  }
  if (rest != 0) quotient |= 1;
  return std::ldexp(static_cast<double>(quotient), -shift);
}

std::int64_t whole_bytes(double bytes) {
  if (bytes <= 0x1.0p62) return static_cast<std::int64_t>(std::ceil(bytes));
  throw PlannerError(PlannerFailure::other, "a table or its batch takes more than 2^62 bytes");
}

}  // namespace shardsim::torchrec
