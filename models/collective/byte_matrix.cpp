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

}  // namespace shardsim
