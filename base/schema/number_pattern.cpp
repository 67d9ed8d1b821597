#include "base/schema/number_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.h"

namespace shardsim {
namespace {

// Whole numbers of `least` or more, which is above 0.
std::string whole_from(int least) {
  const std::string digits = std::to_string(least);
  std::vector<std::string> ways{fmt::format("[1-9][0-9]{{{},}}", digits.size())};
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t rest = digits.size() - i - 1;
    const int next = digits[i] - '0' + (rest > 0 ? 1 : 0);  // the last digit may stay
    if (next > 9) continue;
    ways.push_back(fmt::format("{}[{}-9][0-9]{{{}}}", digits.substr(0, i), next, rest));
  }
  return "0*(" + join(ways, "|") + ")(?![0-9])";
}

// Refuses numbers of 10^power and more: by their digits, or by an exponent after any digits but zero.
std::string not_from(int power) {
  if (power < 0) return "";
  const std::string digits = fmt::format("[1-9][0-9]{{{},}}(\\.[0-9]+)?(?![0-9.eE])", power);
  const std::string exponent = fmt::format("[1-9][0-9.]*[eE]\\+?{}", whole_from(std::max(power, 1)));
  return fmt::format("(?!\\+?({}|{}))", digits, exponent);
}

// Refuses numbers below 10^power, but for zero and those with several digits before the point.
std::string not_below(int power) {
  const std::string exponent = fmt::format("[1-9](\\.[0-9]+)?[eE]-{}", whole_from(std::max(1 - power, 1)));
  const std::string digits = power >= 0 ? "0\\.[0-9]*[1-9][0-9]*(?![0-9eE])|" : "";
  return fmt::format("(?!\\+?({}{}))", digits, exponent);
}

int power_of(double number) {
  constexpr double kRounding = 1e-9;
  return static_cast<int>(std::floor(std::log10(number) + kRounding));
}

// What a number must not begin with. `smallest`: above it are all numbers but zero.
std::string within(const Bounds& bounds, double smallest) {
  std::string pattern;
  if (bounds.least >= 0) pattern += "(?!-[0-9.]*[1-9])";
  if (!bounds.hold(0)) pattern += "(?=[+-]?[0-9.]*[1-9])";
  if (bounds.most > 0 && std::isfinite(bounds.most)) pattern += not_from(power_of(bounds.most) + 1);
  if (smallest > 0) pattern += not_below(power_of(smallest));
  return pattern;
}

std::string sign_where(bool allowed) {
  return allowed ? "[+-]?" : "";
}

}  // namespace

std::string number_pattern(const Bounds& bounds, bool sign) {
  return "^" + within(bounds, bounds.least) + sign_where(sign) + kNumberPattern + "$";
}

std::string quantity_pattern(const Bounds& bounds, UnitsOf units) {
  const std::vector<UnitName> known = unit_names(units);
  const auto [small, large] = std::ranges::minmax(known, {}, &UnitName::worth);
  const double smallest = units == UnitsOf::bytes ? std::max(bounds.least, 1.0) : bounds.least;
  std::vector<std::string> names;
  for (const UnitName& unit : known) names.push_back(unit.name);
  const double most = units == UnitsOf::bytes ? std::min(bounds.most, 0x1p63) : bounds.most;
  const Bounds numbers{bounds.least / large.worth, most / small.worth, bounds.without_least, bounds.without_most};
  return "^" + within(numbers, smallest / large.worth) + sign_where(bounds.least < 0) + kNumberPattern + " ?(" +
         join(names, "|") + ")$";
}

std::string percent_pattern(const Bounds& bounds) {
  return "^" + within(bounds, bounds.least) + sign_where(true) + kNumberPattern + " ?%$";
}

std::string share_pattern(const Bounds& bounds, const std::string& per) {
  const Bounds any{bounds.least, std::numeric_limits<double>::infinity(), bounds.without_least};
  const std::string one = "(?=[+-]?(0(\\.[0-9]+)?|1(\\.0+)?)(?![0-9.])|.*[eE])";
  const std::string hundred = not_from(3) + "(?=[+-]?([0-9]{1,2}(?![0-9])|100(\\.0+)?(?![0-9.]))|.*[eE])";
  const std::string sign = sign_where(!per.empty()), percent = per.empty() ? " ?%" : " *%";
  const std::string end = per.empty() ? "" : "( *" + per + ")?";
  return "^" + within(any, 0) + "(" + one + sign_where(true) + kNumberPattern + "|" + hundred + sign + kNumberPattern +
         percent + ")" + end + "$";
}

}  // namespace shardsim
