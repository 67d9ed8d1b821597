#pragma once

#include <optional>
#include <string>

namespace shardsim {

// Numbers as the cells of tables show them, the same in every locale.

std::string fixed(double value, int places);  // "-" when not finite

// Decimal places that give the largest number of a column four digits: 226.1, 14.02, 3.141.
int decimals_for(double largest);

std::string grouped(double value);           // 579965.3 as "579,965"
std::string grouped_decimals(double value);  // "1,293.4"; one digit when below 0.1, "0.000012" below 1e-4
std::string in_unit(double value, const std::string& unit);  // counts without, times and shares with decimals

// Errors in percent: one decimal, "-" where there is none. `signed_percent` shows the sign of what does not round to 0.
std::string percent(const std::optional<double>& value);
std::string signed_percent(const std::optional<double>& value);

}  // namespace shardsim
