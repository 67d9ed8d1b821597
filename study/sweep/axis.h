#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/tree/tree.h"
#include "study/sweep/amount.h"

namespace shardsim {

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
