#include "sim/lower/known_shares.h"

#include <doctest/doctest.h>

namespace shardsim::known_shares_test {
namespace {

constexpr std::uint64_t kRows = 100'000;

Table table_of(const std::string& name, double s) {
  Table table;
  table.name = name;
  table.rows = kRows;
  table.average_length = 2;
  table.access.family = "zipf";
  table.access.s = s;
  return table;
}

Placement all_rows(std::vector<int> holders) {
  Placement placement;
  placement.row_end = kRows;
  placement.holders = {std::move(holders)};
  return placement;
}

}  // namespace

TEST_CASE("tables of one law share what is known of their lookups, and those of another law do not") {
  KnownShares known;
  const Placement all = all_rows({0, 1});
  const Table first = table_of("first", 1.1), like = table_of("like", 1.1), other = table_of("other", 0.5);
  const AccessDistribution law = known.distribution(first), other_law = known.distribution(other);
  const RowReuse& reuse = known.reuse(all, first, law, 5000);
  CHECK(&known.reuse(all, like, known.distribution(like), 5000) == &reuse);
  CHECK(known.reuse(all, other, other_law, 5000) == row_reuse(other_law, 0, kRows, 5000));
  CHECK(reuse == row_reuse(law, 0, kRows, 5000));
  CHECK(known.reuse(all, first, law, 50) == row_reuse(law, 0, kRows, 50));
  for (int times = 0; times < 2; ++times) {
    CHECK(known.distinct(all, first, law, 5000) == law.expected_distinct(0, kRows, 5000));
    CHECK(known.distinct(all, other, other_law, 5000) == other_law.expected_distinct(0, kRows, 5000));
    CHECK(known.distinct(all, first, law, 50) == law.expected_distinct(0, kRows, 50));
  }
}

TEST_CASE(
    "rows of bags that follow from their first id are known apart from those of independent ids, and as found anew") {
  KnownShares known;
  const Placement all = all_rows({0, 1});
  Table bags = table_of("bags", 1.1), single = table_of("single", 1.1);
  for (Table* table : {&bags, &single}) {
    table->bag_ids = BagIds::first_id;
    table->features.resize(1);
  }
  bags.features.front().pooling_factor = 2;
  single.features.front().pooling_factor = 1;
  const AccessDistribution law = known.distribution(bags);
  const double independent = known.distinct(all, table_of("first", 1.1), law, 5000);
  for (int times = 0; times < 2; ++times) {
    CHECK(known.distinct(all, bags, law, 5000) == one_owner(all, bags, law).distinct(5000).front());
    CHECK(known.distinct(all, single, law, 5000) == one_owner(all, single, law).distinct(5000).front());
  }
  CHECK(known.distinct(all, bags, law, 5000) != known.distinct(all, single, law, 5000));
  CHECK(independent == law.expected_distinct(0, kRows, 5000));
}

TEST_CASE("shares of draws that are tried are kept where that is asked for, and are those that are found anew") {
  constexpr std::uint64_t kTried = 512;
  const Placement all = all_rows({0, 1, 2, 3});
  const Table table = table_of("t", 1.1);
  const auto of = [&](KnownShares& known, std::uint64_t draw, std::uint64_t most_head) {
    return known.of(all, table, RowCut::hashed, {"t", draw, 0}, false, most_head);
  };
  KnownShares keeps(KnownShares::Tried::kept), drops;
  for (const std::uint64_t draw : {1, 2}) {
    CHECK(of(keeps, draw, kTried) == of(keeps, draw, kTried));
    CHECK(of(drops, draw, kTried) != of(drops, draw, kTried));
    CHECK(of(keeps, draw, kTried)->shares() == of(drops, draw, kTried)->shares());
  }
  CHECK(of(keeps, 1, kTried) != of(keeps, 2, kTried));
  CHECK(of(keeps, 1, kTried)->head_rows() == kTried);
  CHECK(of(keeps, 1, 2 * kTried)->head_rows() == 2 * kTried);
  CHECK(of(keeps, 1, kMostHeadRows)->head_rows() > 2 * kTried);
}

TEST_CASE("what hot rows bring many owners is that of the draw that is asked for, whatever was asked before") {
  constexpr int kOwners = 300, kPlaced = 4096;
  std::vector<int> ranks;
  for (int rank = 0; rank < kOwners; ++rank) ranks.push_back(rank);
  const Table table = table_of("t", 1.1);
  const auto load_of = [&](const HotRows& rows, int draw) {
    std::vector<double> load(kOwners, 0.0);
    rows.add_to(load, ranks, 1e6, draw, kPlaced);
    return load;
  };
  KnownShares known;
  const auto rows = known.hot_rows(all_rows(ranks), table, RowCut::hashed, 0);
  const std::vector<double> first = load_of(*rows, 1), second = load_of(*rows, 2);
  CHECK(first != second);
  CHECK(load_of(*rows, 2) == second);
  CHECK(load_of(*rows, 1) == first);
}

}  // namespace shardsim::known_shares_test
