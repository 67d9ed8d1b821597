#include "base/schema/number_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/text.h"

namespace shardsim {
namespace {

constexpr const char* kFraction = "(\\.[0-9]+)?";
constexpr const char* kNoMoreNumber = "(?![0-9.eE])";

// `front`, a digit of `least` to `most`, and any `rest` more; nothing where there is no such digit.
void add_digits(const std::string& front, int least, int most, std::size_t rest, std::vector<std::string>& ways) {
  if (least > most) return;
  ways.push_back(fmt::format("{}[{}-{}]{}", front, least, most, rest == 0 ? "" : fmt::format("[0-9]{{{}}}", rest)));
}

// Whole numbers of `least` or more, with zeros in front where there are some.
std::string whole_from(std::int64_t least) {
  if (least == 0) return "[0-9]+(?![0-9])";
  const std::string digits = std::to_string(least);
  std::vector<std::string> ways{fmt::format("[1-9][0-9]{{{},}}", digits.size())};
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t rest = digits.size() - i - 1;
    const int next = digits[i] - '0' + (rest > 0 ? 1 : 0);  // the last digit may stay
    add_digits(digits.substr(0, i), next, 9, rest, ways);
  }
  return "0*(" + join(ways, "|") + ")(?![0-9])";
}

// Whole numbers below `end`, which is above 0, without zeros in front.
std::string whole_below(std::int64_t end) {
  const std::string digits = std::to_string(end);
  std::vector<std::string> ways;
  if (digits.size() > 1) ways.push_back(fmt::format("0|[1-9][0-9]{{0,{}}}", digits.size() - 2));
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const int least = i == 0 && digits.size() > 1 ? 1 : 0;
    add_digits(digits.substr(0, i), least, digits[i] - '1', digits.size() - i - 1, ways);
  }
  return "(" + join(ways, "|") + ")";
}

bool is_whole(double number) {
  return number >= 0 && number < 0x1p53 && number == std::floor(number);
}

std::vector<std::string> plainly_above(const Bounds& bounds) {
  if (!is_whole(bounds.most)) return {};
  const auto most = static_cast<std::int64_t>(bounds.most);
  const char* const more = bounds.without_most ? kFraction : "\\.[0-9]*[1-9][0-9]*";
  return {whole_from(most + 1) + kFraction, std::to_string(most) + more};
}

std::vector<std::string> plainly_below(const Bounds& bounds) {
  if (!is_whole(bounds.least) || bounds.least == 0) return {};
  const auto least = static_cast<std::int64_t>(bounds.least);
  std::vector<std::string> ways{whole_below(least) + kFraction};
  if (bounds.without_least) ways.push_back(std::to_string(least) + "(\\.0+)?");
  return ways;
}

// Refuses what lies beyond bounds that are whole numbers, where no exponent says otherwise.
std::string not_plainly_outside(const Bounds& bounds) {
  std::vector<std::string> outside = plainly_above(bounds);
  for (std::string& way : plainly_below(bounds)) outside.push_back(std::move(way));
  if (outside.empty()) return "";
  return fmt::format("(?!\\+?({})([eE][+-]?0+)?{})", join(outside, "|"), kNoMoreNumber);
}

// Refuses numbers of 10^power and more: by their digits, or by an exponent after any digits but zero.
std::string not_from(int power) {
  if (power < 0) return "";
  const std::string digits = fmt::format("[1-9][0-9]{{{},}}{}{}", power, kFraction, kNoMoreNumber);
  const std::string exponent = "[1-9][0-9.]*[eE]\\+?" + whole_from(power);
  const std::string part = "0\\.[1-9][0-9]*[eE]\\+?" + whole_from(power + 1);
  return fmt::format("(?!\\+?({}|{}|{}))", digits, exponent, part);
}

// Refuses numbers below 10^power, but for zero and those with several digits before the point.
std::string not_below(int power) {
  const std::string digits = fmt::format("0\\.0{{{}}}[0-9]*[1-9][0-9]*(?![0-9eE])", std::max(-power, 0));
  const std::string exponent = fmt::format("[1-9]{}[eE]-{}", kFraction, whole_from(std::max(1 - power, 1)));
  const std::string part = "0\\.[0-9]*[1-9][0-9]*[eE]-" + whole_from(std::max(-power, 1));
  return fmt::format("(?!\\+?({}|{}|{}))", digits, exponent, part);
}

int power_of(double number) {
  constexpr double kRounding = 1e-9;
  return static_cast<int>(std::floor(std::log10(number) + kRounding));
}

// The least power of ten that no number within the bounds reaches.
int power_beyond(const Bounds& bounds) {
  const int power = power_of(bounds.most);
  return bounds.without_most && std::pow(10.0, power) == bounds.most ? power : power + 1;
}

// Lookaheads that refuse numbers outside of the bounds.
std::string within(const Bounds& bounds) {
  std::string pattern;
  if (bounds.least >= 0) pattern += "(?!-[0-9.]*[1-9])";
  if (!bounds.hold(0)) pattern += "(?=[+-]?[0-9.]*[1-9])";
  if (bounds.most > 0 && std::isfinite(bounds.most)) pattern += not_from(power_beyond(bounds));
  if (bounds.least > 0) pattern += not_below(power_of(bounds.least));
  return pattern + not_plainly_outside(bounds);
}

Bounds in_unit(const Bounds& bounds, double worth) {
  return {bounds.least / worth, bounds.most / worth, bounds.without_least, bounds.without_most};
}

std::string sign_where(bool allowed) {
  return allowed ? "[+-]?" : "";
}

// Refuses decimals that leave a part of a byte. Those of KiB, MiB and so on have to end in 5, and in 25 or 75 where
// there are several: no more than that is looked at.
std::string not_part_of_byte(double worth) {
  const double power = std::log10(worth);
  const std::string decimals = power == std::floor(power)
                                   ? fmt::format("[0-9]{{{}}}[0-9]*[1-9][0-9]*", static_cast<int>(power))
                                   : "[0-9]*([1-46-9]|[013-689]5)0*";
  return "(?![+-]?[0-9]+\\." + decimals + "(?![0-9eE]))";
}

}  // namespace

std::string number_pattern(const Bounds& bounds, bool sign) {
  return "^" + within(bounds) + sign_where(sign) + kNumberPattern + "$";
}

std::string count_pattern(const Bounds& bounds) {
  return "^(?![0-9]+\\.[0-9]*[1-9][0-9]*$)" + within(bounds) + kNumberPattern + "$";
}

std::string quantity_pattern(const Bounds& bounds, UnitsOf units) {
  const bool bytes = units == UnitsOf::bytes;
  const Bounds below_2_63{bounds.least, 0x1p63, bounds.without_least, true};
  const Bounds& known = bytes && bounds.most >= 0x1p63 ? below_2_63 : bounds;
  std::vector<std::string> ways;
  for (const UnitName& unit : unit_names(units)) {
    const std::string whole = bytes ? not_below(power_of(1 / unit.worth)) + not_part_of_byte(unit.worth) : "";
    ways.push_back(within(in_unit(known, unit.worth)) + whole + sign_where(bounds.least < 0) + kNumberPattern + " ?" +
                   unit.name);
  }
  return "^(" + join(ways, "|") + ")$";
}

std::string percent_pattern(const Bounds& bounds) {
  return "^" + within(bounds) + sign_where(true) + kNumberPattern + " ?%$";
}

std::string share_pattern(const Bounds& bounds, const std::string& per) {
  constexpr double kPercent = 0.01;
  const std::string sign = sign_where(!per.empty()), percent = per.empty() ? " ?%" : " *%";
  const std::string end = per.empty() ? "" : "( *" + per + ")?";
  return "^(" + within(bounds) + sign_where(true) + kNumberPattern + "|" + within(in_unit(bounds, kPercent)) + sign +
         kNumberPattern + percent + ")" + end + "$";
}

}  // namespace shardsim
