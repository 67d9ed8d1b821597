#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree/tree.h"

namespace shardsim {

// A number as a scenario writes it, with its unit: "100 Gbit/s", "512", "60 %".
struct Amount {
  enum class Kind { plain, bytes, rate, time, flops };  // 60 % is the plain number 0.6
  double number = 0;                                    // in `unit`
  std::string unit;                                     // as written; "" for a bare number
  Kind kind = Kind::plain;
  double per_unit = 1;  // one `unit` in bytes, bytes/s, s or FLOP/s; 0.01 of a percentage

  double value() const { return number * per_unit; }
  // The same amount in the unit of another one of its kind.
  double in_unit_of(const Amount& other) const { return unit == other.unit ? number : value() / other.per_unit; }
  bool is_whole() const;  // a whole number without a unit
};

// Nothing where the text is no number, or its unit is none of those of docs/formats/conventions.md ("Units in text").
std::optional<Amount> amount_of(std::string_view text);

// A number as a scenario would write it: whole ones without a point, others in the shortest form that reads back.
std::string number_text(double number);
// The same with a unit, for one that such an amount has. Sizes become whole bytes, for a file may state no others.
std::string amount_text(double number, const Amount& like);

// To so many significant decimal digits.
double rounded_to_digits(double number, int digits);

// One of the values that an axis gives to its path.
struct AxisValue {
  Tree tree;                     // what takes the place of the value in the case
  std::string text;              // as results name it: of a map its `label`, else its `name`
  std::optional<Amount> amount;  // where it is a number
};

// A path of the case and the values that it takes, one after the other.
struct Axis {
  std::string path;  // as --set has it: "cluster.nics.rate"
  Place place;       // of its values in the file
  std::vector<AxisValue> values;

  // True when it changes the cluster in more than its size and its price.
  bool tells_machines() const;
};

inline constexpr std::uint64_t kMostSweepPoints = 1'000'000;  // unless the user allows more
inline constexpr std::uint64_t kMostAllowedPoints = std::numeric_limits<std::uint32_t>::max();

// The values that a sweep states for one path: a list, or a range {from, to} with `step`, `factor` or `points` (and
// `scale: log`). At most `most`. Errors (Failure::input): neither of them, no values or too many, ends of different
// units, a range that does not end.
Axis read_axis(const std::string& path, const Tree& stated, std::uint64_t most);

// Axes that change together, of as many values each, or one alone. Errors (Failure::input): the same values twice.
void refuse_twice(std::span<const Axis> together);

// `points` values drawn for one path: of a list each as likely as any other, of {from, to} evenly, or evenly in their
// logarithms (`scale: log`). Whole numbers where both ends are, else six significant digits. Axes of different
// `stream` draw independently of each other.
Axis draw_axis(const std::string& path, const Tree& stated, std::size_t points, std::uint64_t seed,
               std::uint64_t stream);

}  // namespace shardsim
