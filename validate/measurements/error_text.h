#pragma once

#include <optional>
#include <string>

namespace shardsim {

// Errors in percent as every table of this floor writes them: one decimal, "-" where there is none.
std::string percent(const std::optional<double>& value);
std::string signed_percent(const std::optional<double>& value);

// "12", or with what the median is above it, "12, missed by 1.3"; "none" without a bound.
std::string bound_text(const std::optional<double>& bound, const std::optional<double>& median);

}  // namespace shardsim
