#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardsim {

// A decimal number as written: digits * 10^exponent, not yet rounded to a machine number.
struct Decimal {
  std::string digits;  // without point, leading or trailing zeros; "" is zero
  std::int64_t exponent = 0;
  bool negative = false;
  bool has_sign = false;
  bool has_point = false;
  bool has_exponent = false;
};

// Takes "[sign] 0|[1-9][0-9]* [. digits] [e [sign] digits]" from the front of `text`. Nothing when the front is no such
// number: a leading zero, hexadecimal, "nan", "inf". The rest stays in `text`.
std::optional<Decimal> read_decimal(std::string_view& text);

// number * 10^tens * 2^twos, rounded once (and exactly where 10^tens alone is asked for). Nothing when it is out of the
// range of a double or so small that it would round to zero.
std::optional<double> to_double(const Decimal& number, int tens, int twos);

struct Whole {
  enum class Outcome { exact, fraction, overflow };
  Outcome outcome = Outcome::exact;
  std::int64_t value = 0;
};

// number * 10^tens * 2^twos as an exact whole number below 2^63, or why not.
Whole to_whole(const Decimal& number, int tens, int twos);

}  // namespace shardsim
