#pragma once

#include <string>

#include "base/tree/bounds.h"
#include "base/units.h"

namespace shardsim {

// Regular expressions (ECMA, as JSON Schema has them) of texts that are numbers within bounds. They never refuse a
// number within the bounds. They refuse one outside for its sign, for being zero and for its order of magnitude. If the
// bounds are whole numbers and it has no exponent, they refuse it however near it is.

// A plain number; `sign`: one may stand in front.
std::string number_pattern(const Bounds& bounds, bool sign);

// A whole number: digits, or a number with an exponent.
std::string count_pattern(const Bounds& bounds);

// A number and one of the units; the bounds are in the base unit. A bound below 0 allows a sign. Sizes are whole bytes.
std::string quantity_pattern(const Bounds& bounds, UnitsOf units);

// The same for percentages, with bounds in percent.
std::string percent_pattern(const Bounds& bounds);

// A share as a plain number or a percentage, with bounds from 0 to 1. `per`: what may follow, such as "/day".
std::string share_pattern(const Bounds& bounds, const std::string& per = "");

}  // namespace shardsim
