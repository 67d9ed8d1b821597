#include "base/decimal.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace shardsim {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

void take_sign(std::string_view& text, bool& present, bool& negative) {
  present = text.starts_with('-') || text.starts_with('+');
  negative = text.starts_with('-');
  if (present) text.remove_prefix(1);
}

// The fraction after a point; false when the point has no digits behind it.
bool take_fraction(std::string_view& text, Decimal& number) {
  if (!text.starts_with('.')) return true;
  text.remove_prefix(1);
  const std::string_view fraction = take_digits(text);
  number.has_point = true;
  number.digits += fraction;
  number.exponent -= static_cast<std::int64_t>(fraction.size());
  return !fraction.empty();
}

// The exponent, if an "e" with digits follows. Beyond six digits it only has to stay out of range.
void take_exponent(std::string_view& text, Decimal& number) {
  if (!text.starts_with('e') && !text.starts_with('E')) return;
  std::string_view rest = text.substr(1);
  bool present = false, negative = false;
  take_sign(rest, present, negative);
  const std::string_view digits = take_digits(rest);
  if (digits.empty()) return;
  std::int64_t exponent = 0;
  for (const char digit : digits) exponent = exponent > 1'000'000 ? exponent : exponent * 10 + (digit - '0');
  number.exponent += negative ? -exponent : exponent;
  number.has_exponent = true;
  text = rest;
}

void drop_outer_zeros(Decimal& number) {
  number.digits.erase(0, number.digits.find_first_not_of('0'));
  while (!number.digits.empty() && number.digits.back() == '0') {
    number.digits.pop_back();
    ++number.exponent;
  }
  if (number.digits.empty()) number.exponent = 0;
}

constexpr Whole kFraction{Whole::Outcome::fraction, 0};
constexpr Whole kOverflow{Whole::Outcome::overflow, 0};

// Divides by `factor`, -times often, or multiplies, times often. Beyond 63 steps the outcome is the same.
Whole::Outcome apply(std::int64_t& value, std::int64_t factor, std::int64_t times) {
  for (; times < 0; ++times) {
    if (value % factor != 0) return Whole::Outcome::fraction;
    value /= factor;
  }
  for (; times > 0; --times) {
    if (__builtin_mul_overflow(value, factor, &value)) return Whole::Outcome::overflow;
  }
  return Whole::Outcome::exact;
}

}  // namespace

std::optional<Decimal> read_decimal(std::string_view& text) {
  std::string_view rest = text;
  Decimal number;
  take_sign(rest, number.has_sign, number.negative);
  const std::string_view whole = take_digits(rest);
  if (whole.empty() || (whole.size() > 1 && whole.front() == '0')) return std::nullopt;
  number.digits = whole;
  if (!take_fraction(rest, number)) return std::nullopt;
  take_exponent(rest, number);
  drop_outer_zeros(number);
  text = rest;
  return number;
}

std::optional<double> to_double(const Decimal& number, int tens, int twos) {
  if (number.digits.empty()) return 0.0;
  const std::string text = fmt::format("{}{}e{}", number.negative ? "-" : "", number.digits, number.exponent + tens);
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  value = std::ldexp(value, twos);
  if (!std::isfinite(value) || value == 0) return std::nullopt;
  return value;
}

Whole to_whole(const Decimal& number, int tens, int twos) {
  if (number.digits.empty()) return {};
  const std::int64_t fives = number.exponent + tens;
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(number.digits.data(), number.digits.data() + number.digits.size(), value);
  if (failure != std::errc{} || end != number.digits.data() + number.digits.size()) {
    return fives < 0 ? kFraction : kOverflow;  // over 19 digits
  }
  if (number.negative) value = -value;
  // Divisions first, so that no product overflows on its way to a number in range.
  const std::int64_t pairs = fives + twos;
  Whole::Outcome outcome = Whole::Outcome::exact;
  if (fives < 0) outcome = apply(value, 5, fives);
  if (outcome == Whole::Outcome::exact && pairs < 0) outcome = apply(value, 2, pairs);
  if (outcome == Whole::Outcome::exact && fives > 0) outcome = apply(value, 5, fives);
  if (outcome == Whole::Outcome::exact && pairs > 0) outcome = apply(value, 2, pairs);
  if (outcome == Whole::Outcome::fraction) return kFraction;
  if (outcome == Whole::Outcome::overflow) return kOverflow;
  return {Whole::Outcome::exact, value};
}

}  // namespace shardsim
