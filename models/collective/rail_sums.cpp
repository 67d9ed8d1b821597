#include "models/collective/byte_matrix.h"

namespace shardsim {

RailSums::RailSums(const ByteMatrix& matrix, std::vector<int> rail_of, int rails)
    : matrix_(matrix), rail_of_(std::move(rail_of)), rails_(rails), counts_((rail_of_.size() + 1) * rails_, 0) {
  for (std::size_t i = 0; i < rail_of_.size(); ++i) {
    for (std::size_t r = 0; r < rails_; ++r) counts_[(i + 1) * rails_ + r] = counts_[i * rails_ + r];
    ++counts_[(i + 1) * rails_ + rail_of_[i]];
  }
  if (matrix.kind != ByteMatrix::Kind::by_destination || matrix.transposed) return;
  by_destination_.assign(rails_, 0);
  for (std::size_t i = 0; i < rail_of_.size(); ++i) by_destination_[rail_of_[i]] += matrix.unit_bytes * matrix.units[i];
}

// Members of the rail among `length` members in a row, the first of all following the last.
int RailSums::count_in_circle(int rail, int first, int length) const {
  const int end = first + length;
  if (end <= members()) return count_below(rail, end) - count_below(rail, first);
  return count_below(rail, members()) - count_below(rail, first) + count_below(rail, end - members());
}

// `total` units spread evenly; who gets one more begins at `first`.
std::vector<std::int64_t> RailSums::spread(std::int64_t total, int first) const {
  std::vector<std::int64_t> sums;
  const int more = static_cast<int>(total % members());
  for (int rail = 0; rail < static_cast<int>(rails_); ++rail) {
    const std::int64_t units = count_below(rail, members()) * (total / members()) + count_in_circle(rail, first, more);
    sums.push_back(units * matrix_.unit_bytes);
  }
  return sums;
}

// `units` to every member.
std::vector<std::int64_t> RailSums::to_each(std::int64_t units) const {
  std::vector<std::int64_t> sums;
  for (int rail = 0; rail < static_cast<int>(rails_); ++rail)
    sums.push_back(matrix_.unit_bytes * units * count_below(rail, members()));
  return sums;
}

std::vector<std::int64_t> RailSums::one_by_one(int source) const {
  std::vector<std::int64_t> sums(rails_, 0);
  for (int to = 0; to < members(); ++to) sums[rail_of_[to]] += matrix_.bytes_between(source, to, members());
  return sums;
}

std::vector<std::int64_t> RailSums::sent_by(int source) const {
  if (matrix_.kind == ByteMatrix::Kind::even) {
    const int more = static_cast<int>(matrix_.units[0] % members());
    const int first = matrix_.transposed ? (source - more + 1 + members()) % members() : source;
    return spread(matrix_.units[0], first);
  }
  if (matrix_.kind == ByteMatrix::Kind::by_source && !matrix_.transposed) return spread(matrix_.units[source], source);
  if (!by_destination_.empty()) return by_destination_;
  if (matrix_.kind == ByteMatrix::Kind::by_destination) return to_each(matrix_.units[source]);
  return one_by_one(source);
}

}  // namespace shardsim
