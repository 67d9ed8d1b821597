#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardsim {

// What each member of a group sends to each other one, in whole units (a row, an id). Row = source, column =
// destination, by position in the group. The own chunk is included, as NCCL counts.
struct ByteMatrix {
  enum class Kind { even, by_destination, by_source, dense };
  Kind kind = Kind::even;
  std::int64_t unit_bytes = 1;
  std::vector<std::int64_t> units;               // even: one number; by_destination, by_source: one per member
  std::vector<std::vector<std::int64_t>> dense;  // dense: [source][destination]
  bool transposed = false;                       // the backward direction of what the other fields say

  // even: each source sends `units[0]` in total over m members, destination d gets floor(units/m), and one more if
  // (d - s) mod m < units mod m. by_destination: every source sends units[d] to d. by_source: s spreads units[s]
  // evenly.
  std::int64_t units_between(int source, int destination, int members) const;
  std::int64_t bytes_between(int source, int destination, int members) const {
    return unit_bytes * units_between(source, destination, members);
  }
  std::int64_t bytes_sent(int source, int members) const;  // row sum, own chunk included
  std::int64_t bytes_received(int destination, int members) const;

  bool operator==(const ByteMatrix&) const = default;
};

// `total` split over `weights` in whole units, by largest remainder; ties to the lower index.
std::vector<std::int64_t> split_by_largest_remainder(std::int64_t total, const std::vector<double>& weights);

}  // namespace shardsim
