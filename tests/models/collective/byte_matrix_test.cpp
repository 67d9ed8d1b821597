#include "models/collective/byte_matrix.h"

#include <doctest/doctest.h>

#include <numeric>

namespace shardsim::byte_matrix_test {
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
      CHECK(rows.all_sent(3)[i] == sent);
      CHECK(rows.all_received(3)[i] == received);
    }
  }
}

TEST_CASE("sums of all members at once, however the units left over fall") {
  for (const ByteMatrix& rows : {matrix(Kind::by_source, {7, 0, 13, 6, 25, 4, 1}), matrix(Kind::even, {24}),
                                 matrix(Kind::by_source, {7, 0, 13, 6, 25, 4, 1}, true)}) {
    const std::vector<std::int64_t> sent = rows.all_sent(7), received = rows.all_received(7);
    REQUIRE(sent.size() == 7);
    REQUIRE(received.size() == 7);
    for (int i = 0; i < 7; ++i) {
      CHECK(sent[i] == rows.bytes_sent(i, 7));
      CHECK(received[i] == rows.bytes_received(i, 7));
    }
  }
}

}  // namespace shardsim::byte_matrix_test
