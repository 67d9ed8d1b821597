#include "models/collective/byte_matrix.h"

#include <numeric>

namespace shardsim {
namespace {

using MatrixKind = ByteMatrix::Kind;

std::int64_t sum_of(const std::vector<std::int64_t>& units) {
  return std::accumulate(units.begin(), units.end(), std::int64_t{0});
}

// Part of `total` that destination d gets from source s when it is spread evenly over m members: the first `total % m`
// destinations counted from s on get one more.
std::int64_t even_part(std::int64_t total, int s, int d, int m) {
  return total / m + ((d - s + m) % m < total % m ? 1 : 0);
}

std::int64_t row_sum(const ByteMatrix& matrix, int s) {
  if (matrix.kind == MatrixKind::dense) return sum_of(matrix.dense[s]);
  if (matrix.kind == MatrixKind::by_destination) return sum_of(matrix.units);
  return matrix.units[matrix.kind == MatrixKind::even ? 0 : s];
}

std::int64_t units_at(const ByteMatrix& matrix, int s, int d, int m) {
  if (matrix.kind == MatrixKind::dense) return matrix.dense[s][d];
  if (matrix.kind == MatrixKind::by_destination) return matrix.units[d];
  return even_part(row_sum(matrix, s), s, d, m);
}

std::int64_t column_sum(const ByteMatrix& matrix, int d, int m) {
  if (matrix.kind == MatrixKind::even) return matrix.units[0];
  if (matrix.kind == MatrixKind::by_destination) return m * matrix.units[d];
  std::int64_t sum = 0;
  for (int s = 0; s < m; ++s) sum += units_at(matrix, s, d, m);
  return sum;
}

std::vector<std::int64_t> row_sums(const ByteMatrix& matrix, int m) {
  if (matrix.kind == MatrixKind::by_source) return matrix.units;
  std::vector<std::int64_t> sums;
  for (const auto& row : matrix.dense) sums.push_back(sum_of(row));
  return matrix.kind == MatrixKind::dense ? sums : std::vector<std::int64_t>(m, row_sum(matrix, 0));
}

// Everybody's even parts; then the units left over, which source s gives to the destinations from s on.
std::vector<std::int64_t> column_sums_by_source(const ByteMatrix& matrix, int m) {
  std::int64_t to_each = 0, running = 0;
  std::vector<std::int64_t> change(m + 1, 0);  // of the number of sources that give one more
  for (int s = 0; s < m; ++s) {
    const int end = s + static_cast<int>(matrix.units[s] % m);
    to_each += matrix.units[s] / m;
    ++change[s];
    --change[std::min(end, m)];
    if (end <= m) continue;
    ++change[0];
    --change[end - m];
  }
  std::vector<std::int64_t> sums;
  for (int d = 0; d < m; ++d) sums.push_back(to_each + (running += change[d]));
  return sums;
}

std::vector<std::int64_t> column_sums(const ByteMatrix& matrix, int m) {
  if (matrix.kind == MatrixKind::by_source) return column_sums_by_source(matrix, m);
  std::vector<std::int64_t> sums(m, matrix.kind == MatrixKind::even ? matrix.units[0] : 0);
  for (int d = 0; matrix.kind == MatrixKind::by_destination && d < m; ++d) sums[d] = m * matrix.units[d];
  for (const auto& row : matrix.dense)
    for (int d = 0; d < m; ++d) sums[d] += row[d];
  return sums;
}

std::vector<std::int64_t> times(std::int64_t factor, std::vector<std::int64_t> units) {
  for (std::int64_t& each : units) each *= factor;
  return units;
}

}  // namespace

std::int64_t ByteMatrix::units_between(int source, int destination, int members) const {
  return transposed ? units_at(*this, destination, source, members) : units_at(*this, source, destination, members);
}

std::int64_t ByteMatrix::bytes_sent(int source, int members) const {
  return unit_bytes * (transposed ? column_sum(*this, source, members) : row_sum(*this, source));
}

std::int64_t ByteMatrix::bytes_received(int destination, int members) const {
  return unit_bytes * (transposed ? row_sum(*this, destination) : column_sum(*this, destination, members));
}

std::vector<std::int64_t> ByteMatrix::all_sent(int members) const {
  return times(unit_bytes, transposed ? column_sums(*this, members) : row_sums(*this, members));
}

std::vector<std::int64_t> ByteMatrix::all_received(int members) const {
  return times(unit_bytes, transposed ? row_sums(*this, members) : column_sums(*this, members));
}

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
