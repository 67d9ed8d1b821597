#include "models/collective/byte_matrix.h"

#include <algorithm>
#include <cmath>
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

std::vector<std::int64_t> split_by_largest_remainder(std::int64_t total, const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> parts(weights.size(), 0);
  if (weights.empty()) return parts;
  std::vector<double> remainders(weights.size(), 0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double weight = sum > 0 ? weights[i] / sum : 1.0 / static_cast<double>(weights.size());
    const double exact = static_cast<double>(total) * weight;
    parts[i] = static_cast<std::int64_t>(std::floor(exact));
    remainders[i] = exact - std::floor(exact);
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return remainders[a] > remainders[b]; });
  std::int64_t left = total - sum_of(parts);
  for (std::size_t i = 0; left > 0; i = (i + 1) % order.size(), --left) ++parts[order[i]];
  // Rounding may have lifted a product over a whole number: take back where the remainder is smallest.
  for (std::size_t i = order.size(); left < 0 && i-- > 0;)
    if (parts[order[i]] > 0) --parts[order[i]], ++left;
  return parts;
}

}  // namespace shardsim
