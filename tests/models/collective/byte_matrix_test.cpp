#include "models/collective/byte_matrix.h"

#include <doctest/doctest.h>

#include <numeric>

namespace shardsim {
namespace {

using Kind = ByteMatrix::Kind;

ByteMatrix matrix(Kind kind, std::vector<std::int64_t> units, bool transposed = false) {
  ByteMatrix result;
  result.kind = kind;
  result.unit_bytes = 256;
  result.units = std::move(units);
  result.transposed = transposed;
  return result;
}

std::vector<ByteMatrix> examples() {
  ByteMatrix dense = matrix(Kind::dense, {});
  dense.dense = {{1, 2, 3}, {40, 50, 60}, {700, 800, 900}};
  std::vector<ByteMatrix> all = {matrix(Kind::even, {320}), matrix(Kind::even, {7}),
                                 matrix(Kind::by_destination, {5, 0, 9}), matrix(Kind::by_source, {7, 0, 11}), dense};
  const std::size_t plain = all.size();
  for (std::size_t i = 0; i < plain; ++i) {
    all.push_back(all[i]);
    all.back().transposed = true;
  }
  return all;
}

}  // namespace

TEST_CASE("even: 320 rows over 8 ranks are 40 for each, 81,920 bytes sent") {
  const ByteMatrix rows = matrix(Kind::even, {320});
  for (int d = 0; d < 8; ++d) CHECK(rows.units_between(3, d, 8) == 40);
  CHECK(rows.bytes_sent(3, 8) == 81'920);
  CHECK(rows.bytes_received(3, 8) == 81'920);
}

TEST_CASE("even: what is left over goes to the destinations that follow the source") {
  const ByteMatrix rows = matrix(Kind::even, {10});  // 2 each over 4, two more for (d - s) mod 4 < 2
  const std::vector<std::int64_t> expected = {2, 2, 3, 3};
  for (int d = 0; d < 4; ++d) CHECK(rows.units_between(2, d, 4) == expected[d]);
  CHECK(rows.units_between(3, 0, 4) == 3);
  CHECK(rows.units_between(3, 1, 4) == 2);
}

TEST_CASE("by_destination and by_source follow their member") {
  CHECK(matrix(Kind::by_destination, {5, 0, 9}).units_between(0, 2, 3) == 9);
  CHECK(matrix(Kind::by_destination, {5, 0, 9}).units_between(2, 1, 3) == 0);
  CHECK(matrix(Kind::by_source, {7, 0, 11}).units_between(2, 2, 3) == 4);  // 11 = 4 + 4 + 3, counted from the source
  CHECK(matrix(Kind::by_source, {7, 0, 11}).units_between(2, 1, 3) == 3);
  CHECK(matrix(Kind::by_source, {7, 0, 11}).units_between(1, 1, 3) == 0);
}

TEST_CASE("a transposed matrix is the backward direction") {
  const ByteMatrix forward = matrix(Kind::by_source, {7, 0, 11});
  const ByteMatrix backward = matrix(Kind::by_source, {7, 0, 11}, true);
  for (int s = 0; s < 3; ++s)
    for (int d = 0; d < 3; ++d) CHECK(backward.units_between(s, d, 3) == forward.units_between(d, s, 3));
}

TEST_CASE("row and column sums are the sums of the entries, for every kind and direction") {
  for (const ByteMatrix& rows : examples()) {
    for (int i = 0; i < 3; ++i) {
      std::int64_t sent = 0, received = 0;
      for (int j = 0; j < 3; ++j) {
        sent += rows.bytes_between(i, j, 3);
        received += rows.bytes_between(j, i, 3);
      }
      CHECK(rows.bytes_sent(i, 3) == sent);
      CHECK(rows.bytes_received(i, 3) == received);
    }
  }
}

TEST_CASE("largest remainder: whole parts, the rest to the largest remainders, ties to the lower index") {
  CHECK(split_by_largest_remainder(10, {1, 1, 1, 1}) == std::vector<std::int64_t>{3, 3, 2, 2});
  CHECK(split_by_largest_remainder(10, {0.5, 0.26, 0.24}) == std::vector<std::int64_t>{5, 3, 2});
  CHECK(split_by_largest_remainder(7, {2, 1}) == std::vector<std::int64_t>{5, 2});
  CHECK(split_by_largest_remainder(7, {1, 2}) == std::vector<std::int64_t>{2, 5});
  CHECK(split_by_largest_remainder(0, {1, 2}) == std::vector<std::int64_t>{0, 0});
  CHECK(split_by_largest_remainder(3, {0, 0}) == std::vector<std::int64_t>{2, 1});
  CHECK(split_by_largest_remainder(3, {}).empty());
}

TEST_CASE("largest remainder keeps the total, whatever the weights") {
  for (std::int64_t total : {1LL, 17LL, 1'000'003LL, 123'456'789'012LL, (1LL << 52) + 1}) {
    std::vector<double> weights;
    for (int i = 1; i <= 97; ++i) weights.push_back(1.0 / (i * i * 0.37));
    const std::vector<std::int64_t> parts = split_by_largest_remainder(total, weights);
    CHECK(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}) == total);
    for (const std::int64_t part : parts) CHECK(part >= 0);
  }
}

}  // namespace shardsim
