#pragma once

#include <vector>

#include "models/collective/byte_matrix.h"

namespace shardsim {

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
  std::vector<std::int64_t> one_by_one(int source) const;

  const ByteMatrix& matrix_;
  std::vector<int> rail_of_;
  std::size_t rails_;
  std::vector<int> counts_;                   // [end][rail]: members of the rail before `end`
  std::vector<std::int64_t> by_destination_;  // [rail], of a matrix by destination
};

}  // namespace shardsim
