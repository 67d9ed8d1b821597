#include "base/document/cells.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "base/text.h"

namespace shardsim {

namespace {

constexpr double kLargest = 9e15;  // every whole double below fits std::int64_t

}  // namespace

std::string fixed(double value, int places) {
  if (!std::isfinite(value) || std::abs(value) >= kLargest) return "-";
  std::string text = fmt::format("{:.{}f}", value, places);
  // A number that rounds to zero gets no sign: "-0.0" makes readers look for a difference.
  if (text.front() == '-' && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

int decimals_for(double largest) {
  if (largest >= 100) return 1;
  if (largest >= 10) return 2;
  return largest >= 1 ? 3 : 4;
}

std::string grouped(double value) {
  return std::isfinite(value) && std::abs(value) < kLargest ? with_thousands(std::llround(value)) : "-";
}

std::string grouped_decimals(double value) {
  if (!std::isfinite(value) || value < 0 || value >= kLargest) return "-";
  if (value > 0 && value < 1e-4) return value < 5e-7 ? "0.0" : fixed(value, 6);
  if (value > 0 && value < 0.1) return fmt::format("{:.1g}", value);
  const std::int64_t tenths = std::llround(value * 10);
  return fmt::format("{}.{}", with_thousands(tenths / 10), tenths % 10);
}

std::string in_unit(double value, const std::string& unit) {
  if (unit == "ms") return fixed(value, value >= 10 ? 1 : value >= 1 ? 2 : 3);
  if (unit == "%") return fixed(value, 1);
  return std::abs(value - std::round(value)) < 1e-9 ? grouped(value) : fixed(value, 2);
}

std::string percent(const std::optional<double>& value) {
  return value ? fixed(*value, 1) : "-";
}

std::string signed_percent(const std::optional<double>& value) {
  if (!value) return "-";
  return std::abs(*value) < 0.05 ? "0.0" : fmt::format("{:+.1f}", *value);
}

}  // namespace shardsim
