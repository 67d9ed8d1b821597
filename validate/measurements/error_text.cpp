#include "validate/measurements/error_text.h"

#include <fmt/format.h>

#include "base/text.h"
#include "sim/report/numbers.h"

namespace shardsim {

std::string percent(const std::optional<double>& value) {
  return value ? fixed(*value, 1) : "-";
}

std::string signed_percent(const std::optional<double>& value) {
  return value ? fmt::format("{:+.1f}", *value) : "-";
}

std::string bound_text(const std::optional<double>& bound, const std::optional<double>& median) {
  if (!bound) return "none";
  const std::string text = shortest(*bound);
  return median && *median > *bound ? fmt::format("{}, missed by {:.1f}", text, *median - *bound) : text;
}

}  // namespace shardsim
