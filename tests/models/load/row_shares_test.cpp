#include "models/load/row_shares.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>

#include "base/rng.h"
#include "models/load/id_counts.h"

namespace shardsim::row_shares_test {

namespace {

AccessDistribution zipf(double s, std::uint64_t rows) {
  AccessSpec spec;
  spec.family = s > 0 ? "zipf" : "uniform";
  spec.s = s;
  return {spec, rows, 1};
}

RowShares shares_of(const AccessDistribution& access, int owners, RowOrder order, RowCut cut,
                    const RowHash& hash = {"t", 1, 0}) {
  return {RowLaw(access, 0, access.rows()), RowOwners(access.rows(), owners, order, cut, hash)};
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

constexpr RowOrder kOrders[] = {RowOrder::random, RowOrder::popularity};
constexpr RowCut kCuts[] = {RowCut::hashed, RowCut::blocks, RowCut::modulo};

// Calls `check` for random laws, sizes, owners and hashes under every order and cut.
template <typename Check>
void for_random_tables(int tables, const Check& check) {
  Rng rng(20260);
  for (int i = 0; i < tables; ++i) {
    const AccessDistribution access = zipf(2.0 * rng.uniform(), 1 + rng.below(i % 4 == 0 ? 200'000 : 3'000));
    const int owners = static_cast<int>(1 + rng.below(40));
    for (const RowOrder order : kOrders) {
      for (const RowCut cut : kCuts) check(access, shares_of(access, owners, order, cut, {"t", rng.next(), 0}));
    }
  }
}

}  // namespace

TEST_CASE("shares are 0 or more and add up to 1; owners without rows have none") {
  for_random_tables(40, [](const AccessDistribution&, const RowShares& shares) {
    CHECK(std::abs(sum_of(shares.shares()) - 1) <= 1e-11);
    for (std::size_t j = 0; j < shares.shares().size(); ++j) {
      CHECK(shares.shares()[j] >= 0);
      if (shares.rows_of(static_cast<int>(j)) == 0) CHECK(shares.shares()[j] == 0);
    }
  });
}

TEST_CASE("in popularity order blocks fall from owner to owner, and the first gets more the steeper the law is") {
  for (const std::uint64_t rows : {100, 5'000, 40'000, 10'000'000}) {
    double blocks_before = 0, modulo_before = 0;
    for (int step = 0; step <= 40; ++step) {
      const AccessDistribution access = zipf(0.05 * step, rows);
      const auto blocks = shares_of(access, 8, RowOrder::popularity, RowCut::blocks).shares();
      CHECK(std::is_sorted(blocks.rbegin(), blocks.rend(), [](double a, double b) { return a < b - 1e-12; }));
      CHECK(blocks[0] >= blocks_before - 1e-12);
      blocks_before = blocks[0];
      if (rows == 100) continue;
      const double modulo = shares_of(access, 8, RowOrder::popularity, RowCut::modulo).shares()[0];
      CHECK(modulo >= modulo_before - 1e-3 / 8);  // the rule is right to 0.001 of the mean share
      modulo_before = modulo;
    }
  }
}

TEST_CASE("every row has one owner, whose count of rows it is part of") {
  for (const RowOrder order : kOrders) {
    for (const RowCut cut : kCuts) {
      for (const auto& [rows, owners] : {std::pair{10ULL, 8}, std::pair{83ULL, 8}, std::pair{5ULL, 1}}) {
        const RowOwners held(rows, owners, order, cut, {"t", 3, 1});
        std::set<std::pair<int, std::uint64_t>> places;
        std::vector<std::uint64_t> counts(static_cast<std::size_t>(owners), 0);
        for (std::uint64_t x = 0; x < rows; ++x) {
          const RowOwner owner = held.at(x);
          places.insert({owner.shard, owner.local_row});
          ++counts.at(static_cast<std::size_t>(owner.shard));
          CHECK(owner.local_row < held.rows_of(owner.shard));
        }
        CHECK(places.size() == rows);
        for (int j = 0; j < owners; ++j) CHECK(held.rows_of(j) == counts[static_cast<std::size_t>(j)]);
      }
    }
  }
}

// torchrec/distributed/sharding/rw_sharding.py: block size ceil(rows / world); 10 rows over 8 ranks.
TEST_CASE("blocks are TorchRec's: the last owners may have no rows") {
  const RowOwners held(10, 8, RowOrder::popularity, RowCut::blocks, {"t", 1, 0});
  for (int j = 0; j < 8; ++j) CHECK(held.rows_of(j) == (j < 5 ? 2 : 0));
  CHECK(held.at(9) == RowOwner{4, 1});
  const RowShares shares = shares_of(zipf(0, 10), 8, RowOrder::popularity, RowCut::blocks);
  CHECK(shares.max_over_mean() == doctest::Approx(1.6).epsilon(1e-12));
  CHECK(shares.equal());
}

TEST_CASE("blocks of whole buckets: the first owners have one more") {
  const RowOwners held(100'000, 4, RowOrder::popularity, RowCut::blocks, {"t", 1, 0}, 10'000);
  const std::vector<std::uint64_t> rows = {30'000, 30'000, 20'000, 20'000};
  std::uint64_t begin = 0;
  for (int j = 0; j < 4; ++j) {
    CHECK(held.rows_of(j) == rows[static_cast<std::size_t>(j)]);
    CHECK(held.at(begin) == RowOwner{j, 0});
    begin += rows[static_cast<std::size_t>(j)];
    CHECK(held.at(begin - 1) == RowOwner{j, rows[static_cast<std::size_t>(j)] - 1});
  }
  const RowOwners scattered(100'000, 4, RowOrder::random, RowCut::blocks, {"t", 1, 0}, 10'000);
  const std::vector<std::int32_t> first = scattered.of_first(5'000);
  for (std::uint64_t offset = 0; offset < first.size(); ++offset) REQUIRE(first[offset] == scattered.at(offset).shard);
  const RowShares shares(RowLaw(zipf(0, 100'000), 0, 100'000), held);
  CHECK(shares.max_over_mean() == doctest::Approx(1.2).epsilon(1e-12));
}

TEST_CASE("the owners of the first rows are those of each of them") {
  for (const RowOrder order : kOrders) {
    for (const RowCut cut : kCuts) {
      for (const std::uint64_t rows : {12'345ULL, 6'000'000'000ULL}) {
        for (const int shards : {1, 7, 16'384, 70'000}) {
          const RowOwners owners(rows, shards, order, cut, {"t", 3, 1});
          const std::vector<std::int32_t> first = owners.of_first(9'000);
          REQUIRE(first.size() == 9'000);
          for (std::uint64_t offset = 0; offset < first.size(); ++offset)
            REQUIRE(first[offset] == owners.at(offset).shard);
          const OwnerList list = owners.list_first(9'000);
          CHECK(std::visit([&](const auto& of) { return std::ranges::equal(of, first); }, list));
          CHECK_THROWS_AS(owners.of_first(rows + 1), std::out_of_range);
        }
      }
    }
  }
}

TEST_CASE("what tables of one kind keep for each other changes no bit, whatever was asked before") {
  const AccessDistribution steep = zipf(1.1, 100'000), flat = zipf(0.6, 90'000);
  const auto curves = std::make_shared<RowCurves>();
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const AccessDistribution* const access : {&steep, &flat}) {
      for (const std::uint64_t first : {0ULL, 20'000ULL}) {
        const RowLaw law(*access, first, access->rows());
        for (const int k : {2, 64}) {
          const RowOwners owners(law.rows(), k, RowOrder::random, RowCut::blocks, {"t", seed, 0});
          const RowShares own(law, owners), kept(law, owners, {}, curves);
          CHECK(own.shares() == kept.shares());
          for (const double draws : {10.0, 5'000.0, 1e6, 5'000.0, 10.0}) {
            const std::vector<double> misses = RowShares(law, owners).misses(draws, 0.01);
            CHECK(own.misses(draws, 0.01) == misses);
            CHECK(own.misses(draws, 0.01) == misses);
            CHECK(kept.misses(draws, 0.01) == misses);
            CHECK(own.misses(draws, 0.02) == kept.misses(draws, 0.02));
          }
        }
      }
    }
  }
}

TEST_CASE("an id is owned by who owns its row, whatever the order and the cut") {
  for (const RowOrder order : kOrders) {
    for (const RowCut cut : kCuts) {
      const RowOwners held(1000, 7, order, cut, {"t", 5, 0});
      for (std::uint64_t x = 0; x < 1000; ++x)
        CHECK(held.of_id(order == RowOrder::random ? row_id("t", 5, x, 1000) : x) == held.at(x));
    }
  }
}

TEST_CASE("no permutation is ever written down: the largest table is as cheap as a small one") {
  const AccessDistribution access = zipf(1.05, std::uint64_t{1} << 53);
  const RowShares shares = shares_of(access, 128, RowOrder::random, RowCut::blocks);
  CHECK(shares.head_rows() <= kMostHeadRows);
  CHECK(std::abs(sum_of(shares.shares()) - 1) <= 1e-11);
}

// Section 6, law 7: four times the head changes a share by less than 0.3 % of the mean one, rms.
TEST_CASE("the rows that are placed are enough") {
  for (const double s : {0.8, 1.05, 1.2}) {
    const AccessDistribution access = zipf(s, 1'000'000);
    const RowLaw law(access, 0, access.rows());
    const RowOwners owners(access.rows(), 8, RowOrder::random, RowCut::blocks, {"t", 9, 0});
    const RowShares shares(law, owners);
    CHECK(7 * tail_variance(law, shares.head_rows()) <= 4e-6);
    std::vector<double> longer(8, 0);
    const std::uint64_t head = 4 * shares.head_rows();
    std::vector<double> rows(8, 0);
    for (std::uint64_t x = 0; x < head; ++x) {
      const auto j = static_cast<std::size_t>(owners.at(x).shard);
      longer[j] += law.probability(x);
      rows[j] += 1;
    }
    double squares = 0;
    for (std::size_t j = 0; j < 8; ++j) {
      const double left = static_cast<double>(owners.rows_of(static_cast<int>(j))) - rows[j];
      longer[j] += law.sum(head, law.rows()) * left / static_cast<double>(law.rows() - head);
      squares += std::pow(8 * (longer[j] / law.total() - shares.shares()[j]), 2) / 8;
    }
    CHECK(std::sqrt(squares) < 0.003);
  }
}

TEST_CASE("different rows: of all owners those of the whole, none above its rows or its lookups" *
          doctest::test_suite("long")) {
  for_random_tables(25, [](const AccessDistribution& access, const RowShares& shares) {
    const RowLaw law(access, 0, access.rows());
    std::vector<double> before(shares.shares().size(), 0), ratio_before(before.size(), 2);
    for (const double draws : {1.0, 30.0, 1000.0, 40'000.0, 2e6}) {
      const std::vector<double> distinct = shares.distinct(draws);
      // Where few draws meet few rows the whole is itself taken with a tolerance.
      double whole = 0;
      for (std::uint64_t x = 0; x < law.rows(); ++x)
        whole -= std::expm1(draws * std::log1p(-std::min(1.0, law.probability(x) / law.total())));
      CHECK(sum_of(distinct) == doctest::Approx(whole).epsilon(1e-3));
      for (std::size_t j = 0; j < distinct.size(); ++j) {
        const double lookups = draws * shares.shares()[j];
        CHECK(distinct[j] <= static_cast<double>(shares.rows_of(static_cast<int>(j))) * (1 + 1e-3));
        CHECK(distinct[j] <= lookups * (1 + 2e-3) + 1e-12);
        CHECK(distinct[j] >= before[j] * (1 - 1e-9));
        CHECK(distinct[j] / draws <= ratio_before[j] * (1 + 2e-3) + 1e-15);
        before[j] = distinct[j];
        ratio_before[j] = distinct[j] / draws;
      }
    }
  });
}

TEST_CASE("a cache of nothing misses every row, a cache of all none, and a larger one never more") {
  const AccessDistribution access = zipf(1.05, 300'000);
  for (const RowOrder order : kOrders) {
    const RowShares shares = shares_of(access, 8, order, RowCut::blocks);
    CHECK(shares.misses(50'000, 0) == shares.distinct(50'000));
    CHECK(sum_of(shares.misses(50'000, 1)) == 0);
    double before = sum_of(shares.distinct(50'000));
    for (const double factor : {0.01, 0.2, 0.6, 0.95}) {
      const double misses = sum_of(shares.misses(50'000, factor));
      CHECK(misses < before);
      before = misses;
    }
  }
}

TEST_CASE("observed shares move the load, planned ones that are met do not") {
  const AccessDistribution access = zipf(0.9, 20'000);
  ObservedAccess same, hotter;
  same.average_length = hotter.average_length = 3;
  same.shares = {{100, access.prefix(100)}, {20'000, 1}};
  hotter.shares = {{100, 0.9}, {20'000, 1}};
  const RowOwners owners(20'000, 4, RowOrder::popularity, RowCut::blocks, {"t", 1, 0});
  const RowShares planned(RowLaw(access, 0, 20'000), owners);
  const RowShares met(RowLaw(access, 0, 20'000, &same), owners);
  const RowShares stretched(RowLaw(access, 0, 20'000, &hotter), owners);
  for (std::size_t j = 0; j < 4; ++j) CHECK(met.shares()[j] == doctest::Approx(planned.shares()[j]).epsilon(1e-9));
  CHECK(stretched.shares()[0] > 0.9);
  const RowLaw law(access, 50, 20'000, &hotter);
  CHECK(law.sum(0, 1000) == doctest::Approx(hotter.sum(access, 50, 1050)).epsilon(1e-12));
  CHECK(law.probability(60) == doctest::Approx(hotter.sum(access, 110, 111)).epsilon(1e-9));
}

TEST_CASE("a placement that nobody looks up has shares by its rows, and no rows are met") {
  AccessSpec spec;
  spec.family = "explicit";
  spec.p = {1, 0, 0, 0, 0};
  const AccessDistribution access(spec, 5, 0);
  const RowShares cold(RowLaw(access, 1, 5), RowOwners(4, 3, RowOrder::random, RowCut::blocks, {"t", 1, 0}));
  CHECK(cold.shares() == std::vector<double>{0.5, 0.5, 0});
  CHECK(sum_of(cold.distinct(100)) == 0);
  const RowShares hot(RowLaw(access, 0, 5), RowOwners(5, 5, RowOrder::popularity, RowCut::blocks, {"t", 1, 0}));
  CHECK(hot.shares()[0] == 1);
  CHECK_FALSE(hot.equal());  // the others have rows and no lookups
}

TEST_CASE("only a hash knows the seed, and only the own name") {
  const AccessDistribution access = zipf(1.05, 50'000);
  const auto shares = [&](RowOrder order, RowCut cut, const RowHash& hash) {
    return shares_of(access, 8, order, cut, hash).shares();
  };
  for (const RowCut cut : {RowCut::blocks, RowCut::modulo}) {
    CHECK(shares(RowOrder::popularity, cut, {"t", 1, 0}) == shares(RowOrder::popularity, cut, {"u", 2, 3}));
    CHECK(shares(RowOrder::random, cut, {"t", 1, 0}) == shares(RowOrder::random, cut, {"t", 1, 0}));
    CHECK(shares(RowOrder::random, cut, {"t", 1, 0}) != shares(RowOrder::random, cut, {"t", 2, 0}));
  }
  CHECK(shares(RowOrder::popularity, RowCut::hashed, {"t", 1, 0}) ==
        shares(RowOrder::random, RowCut::hashed, {"t", 1, 0}));
}

TEST_CASE("bags that follow from their first id hide the skew of rows, and meet more of them") {
  const AccessDistribution access = zipf(1.05, 100'000);
  const RowLaw law(access, 0, access.rows());
  const RowOwners owners(access.rows(), 8, RowOrder::popularity, RowCut::blocks, {"t", 1, 0});
  const RowShares alone(law, owners), bags(law, owners, {20, {"t", 1, 0}});
  CHECK(std::abs(sum_of(bags.shares()) - 1) <= 1e-11);
  CHECK(bags.max_over_mean() < 0.3 * alone.max_over_mean());
  CHECK(sum_of(bags.distinct(200'000)) > sum_of(alone.distinct(200'000)));
  CHECK_THROWS_AS(RowShares(RowLaw(access, 0, 5), owners), std::invalid_argument);
  const RowOwners part(10, 8, RowOrder::popularity, RowCut::blocks, {"t", 1, 0});
  CHECK_THROWS_AS(RowShares(RowLaw(access, 0, 10), part, {20, {"t", 1, 0}}), std::invalid_argument);
}

TEST_CASE("rows that join a placement leave the others where they are") {
  for (const RowCut cut : {RowCut::blocks, RowCut::modulo, RowCut::hashed}) {
    CAPTURE(name_of(cut));
    const RowOwners before(1000, 7, RowOrder::random, cut, {"t", 3, 0});
    const RowOwners after(1300, 7, RowOrder::random, cut, {"t", 3, 0, 300});
    std::vector<std::uint64_t> rows(7, 0);
    std::vector<std::uint64_t> most(7, 0);
    const std::vector<std::int32_t> first = after.of_first(1300);
    for (std::uint64_t offset = 0; offset < 1300; ++offset) {
      const RowOwner owner = after.at(offset);
      if (offset < 1000) CHECK(owner == before.at(offset));
      CHECK(first[offset] == owner.shard);
      const auto shard = static_cast<std::size_t>(owner.shard);
      ++rows[shard];
      most[shard] = std::max(most[shard], owner.local_row);
    }
    for (int owner = 0; owner < 7; ++owner) {
      const auto shard = static_cast<std::size_t>(owner);
      CHECK(after.rows_of(owner) == rows[shard]);
      CHECK(most[shard] == rows[shard] - 1);
    }
    CHECK(after.of_id(1299) == after.at(1299));
    CHECK_THROWS_AS(after.of_first(1301), std::out_of_range);
  }
  const RowOwners popular(1300, 7, RowOrder::popularity, RowCut::blocks, {"t", 3, 0, 300});
  CHECK(popular.at(299).shard == RowOwners(1300, 7, RowOrder::popularity, RowCut::blocks, {"t", 3, 0}).at(299).shard);
}

}  // namespace shardsim::row_shares_test
