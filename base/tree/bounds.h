#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "base/error.h"

namespace shardsim {

// The numbers that a value may be, in its own unit; of a list, how many items it may have; of a text, how many letters.
// Written as Bounds::from(1).to(16) or Bounds::above(0).below(1).
struct Bounds {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool without_least = false, without_most = false;  // the end itself is out

  static constexpr Bounds from(double least) { return {.least = least}; }
  static constexpr Bounds above(double least) { return {.least = least, .without_least = true}; }
  constexpr Bounds to(double end) const { return {least, end, without_least, false}; }
  constexpr Bounds below(double end) const { return {least, end, without_least, true}; }

  bool hold(double number) const;
  std::string text() const;  // "above 0 and at most 10"; empty where every number is in

  bool operator==(const Bounds&) const = default;
};

// Refuses a number, written as `text`, that is out of the bounds, as an input error: what it is not ("is not above 0"),
// what to write, and `advice` where that is not enough.
void refuse_outside(const Bounds& bounds, double number, std::string_view text, const Place& place,
                    std::string_view advice = "");

}  // namespace shardsim
