#pragma once

#include <string>
#include <vector>

namespace shardsim {

// The units that a text of a quantity may end in, as base/units.h parses it, and what each is worth in the base unit.
enum class UnitsOf { time, bytes, rate, flops };
struct UnitName {
  std::string name;
  double worth = 0;
};
std::vector<UnitName> unit_names(UnitsOf quantity);

// The plain numbers that base/units.h parses, as a regular expression (ECMA) without the sign that some may have.
inline constexpr const char* kNumberPattern = "(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?";

}  // namespace shardsim
