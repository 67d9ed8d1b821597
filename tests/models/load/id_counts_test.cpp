#include "models/load/id_counts.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "base/rng.h"

namespace shardsim::id_counts_test {

namespace {

std::vector<double> random_shares(Rng& rng, std::size_t owners) {
  std::vector<double> shares(owners);
  double sum = 0;
  for (double& share : shares) sum += share = rng.below(5) == 0 ? 0 : std::pow(rng.uniform(), 4) + 1e-6;
  if (sum == 0) return std::vector<double>(owners, 1.0 / static_cast<double>(owners));
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace

// 3,000 random matrices.
TEST_CASE("rows are the ids of a source, columns the totals, cells the floor or the ceiling of an even part") {
  Rng rng(7);
  for (int i = 0; i < 3000; ++i) {
    const auto owners = static_cast<std::size_t>(1 + rng.below(12));
    const int sources = static_cast<int>(1 + rng.below(20));
    const auto ids = static_cast<std::int64_t>(rng.below(i % 3 == 0 ? 40'000 : 300));
    const std::vector<double> shares = random_shares(rng, owners);
    const bool group = static_cast<int>(owners) == sources && rng.below(2) == 0;
    const IdCounts counts(ids, shares, sources, group);
    std::vector<std::int64_t> columns(owners, 0), by_changes(owners);
    for (std::size_t j = 0; j < owners; ++j) by_changes[j] = counts.sent(0, static_cast<int>(j));
    for (int s = 0; s < sources; ++s) {
      std::int64_t row = 0;
      for (std::size_t j = 0; j < owners; ++j) {
        const std::int64_t cell = counts.sent(s, static_cast<int>(j));
        const std::int64_t total = counts.received(static_cast<int>(j));
        CHECK(cell >= total / sources);
        CHECK(cell <= (total + sources - 1) / sources);
        if (shares[j] == 0) CHECK(cell == 0);
        for (const IdCounts::Change& change : counts.changes(static_cast<int>(j))) {
          if (s > 0 && change.source == s) by_changes[j] += change.by;
        }
        CHECK(by_changes[j] == cell);
        row += cell;
        columns[j] += cell;
      }
      CHECK(row == ids);
    }
    for (std::size_t j = 0; j < owners; ++j) CHECK(columns[j] == counts.received(static_cast<int>(j)));
  }
}

TEST_CASE("the rule follows from the ids per owner and from the size of the group") {
  using Rule = IdCounts::Rule;
  const std::vector<double> uneven{0.6, 0.4}, even{0.5, 0.5};
  CHECK(IdCounts(1999, uneven, 2, true).rule() == Rule::two_sided);
  CHECK(IdCounts(2000, uneven, 2, true).rule() == Rule::by_destination);
  CHECK(IdCounts(10, uneven, 1024, false).rule() == Rule::two_sided);
  CHECK(IdCounts(10, uneven, 1025, false).rule() == Rule::by_destination);
  CHECK(IdCounts(10, even, 2, true).rule() == Rule::even);
  CHECK(IdCounts(10, even, 4, false).rule() == Rule::by_destination);
  CHECK(IdCounts(10, {0.5, 0.5 * (1 + 1e-8)}, 2, true).rule() == Rule::two_sided);
  CHECK(IdCounts(10, {0.5, 0.5, 0}, 3, true).rule() == Rule::by_destination);
  CHECK_THROWS_AS(IdCounts(10, {}, 2, false), std::invalid_argument);
  CHECK_THROWS_AS(IdCounts(10, uneven, 3, true), std::invalid_argument);
}

}  // namespace shardsim::id_counts_test
