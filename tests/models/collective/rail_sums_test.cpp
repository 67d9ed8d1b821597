#include <doctest/doctest.h>

#include "models/collective/byte_matrix.h"

namespace shardsim::rail_sums_test {

namespace {

void check_like_pairs(const ByteMatrix& matrix) {
  const std::vector<int> rail_of = {0, 1, 2, 0, 2, 2, 1};
  const RailSums sums(matrix, rail_of, 3);
  for (int source = 0; source < 7; ++source) {
    std::vector<std::int64_t> expected(3, 0);
    for (int to = 0; to < 7; ++to) expected[rail_of[to]] += matrix.bytes_between(source, to, 7);
    CHECK(sums.sent_by(source) == expected);
  }
}

}  // namespace

TEST_CASE("sums per rail equal those over every pair, for every kind of matrix") {
  for (bool transposed : {false, true}) {
    for (std::int64_t units : {0, 3, 7, 24}) check_like_pairs({ByteMatrix::Kind::even, 4, {units}, {}, transposed});
    check_like_pairs({ByteMatrix::Kind::by_destination, 8, {5, 0, 7, 1, 9, 2, 3}, {}, transposed});
    check_like_pairs({ByteMatrix::Kind::by_source, 8, {15, 0, 27, 1, 9, 22, 3}, {}, transposed});
    std::vector<std::vector<std::int64_t>> dense(7, std::vector<std::int64_t>(7));
    for (int i = 0; i < 49; ++i) dense[i / 7][i % 7] = (i * i) % 11;
    check_like_pairs({ByteMatrix::Kind::dense, 2, {}, dense, transposed});
  }
}

}  // namespace shardsim::rail_sums_test
