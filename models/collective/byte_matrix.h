#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/largest_remainder.h"

namespace shardsim {

// The amounts that each member of a group sends to each other one, in whole units (a row, an id). Row = source, column
// = destination, by position in the group. The own chunk is included, as NCCL counts.
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
  // The sums of all members at once. A dense matrix is read once; the cost of other kinds is linear in the size of the
  // group.
  std::vector<std::int64_t> all_sent(int members) const;
  std::vector<std::int64_t> all_received(int members) const;

  bool operator==(const ByteMatrix&) const = default;
};

// Sums of a byte matrix over the destinations of each rail (a NIC's place in its node), without looking at every pair
// where the matrix has a closed form. `rail_of`: [member], from 0 and below `rails`.
class RailSums {
 public:
  RailSums(const ByteMatrix& matrix, std::vector<int> rail_of, int rails);

  // Bytes that `source` sends to the members of each rail, those of its own node included.
  std::vector<std::int64_t> sent_by(int source) const;

 private:
  int members() const { return static_cast<int>(rail_of_.size()); }
  int count_below(int rail, int end) const { return counts_[static_cast<std::size_t>(end) * rails_ + rail]; }
  int count_in_circle(int rail, int first, int length) const;
  std::vector<std::int64_t> spread(std::int64_t total, int first) const;
  std::vector<std::int64_t> to_each(std::int64_t units) const;
  std::vector<std::int64_t> one_by_one(int source) const;

  const ByteMatrix& matrix_;
  std::vector<int> rail_of_;
  std::size_t rails_;
  std::vector<int> counts_;                   // [end][rail]: members of the rail before `end`
  std::vector<std::int64_t> by_destination_;  // [rail], of a matrix by destination
};

}  // namespace shardsim
