#include "models/workload/pool/table_pool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "tests/models/workload_text.h"

namespace shardsim::table_pool_test {
namespace {

// Rows that are met, by bin, and their lookups, when each row has an expected count.
struct MetRows {
  double distinct = 0;
  ReuseBins rows{}, lookups{};

  void add(double rate, double count) {
    double chance = std::exp(-rate);
    const int last = static_cast<int>(rate + 12 * std::sqrt(rate) + 40);
    int bin = 0;
    for (int met = 1; met <= last; ++met) {
      chance = std::exp(-rate + met * std::log(rate) - std::lgamma(met + 1));
      while (met > (1LL << bin) && bin + 1 < kReuseBins) ++bin;
      rows[bin] += count * chance;
      lookups[bin] += count * chance * met;
      distinct += count * chance;
    }
  }
};

template <typename Figure>
double total(const std::vector<PoolTable>& pool, Figure figure) {
  return std::accumulate(pool.begin(), pool.end(), 0.0,
                         [&](double sum, const PoolTable& table) { return sum + static_cast<double>(table.*figure); });
}

}  // namespace

TEST_CASE("the pool has the published sizes of MetaSyn: AutoShard, table 1; locality_stats.txt" *
          doctest::test_suite("long")) {
  for (const std::uint64_t seed : {0, 9}) {
    const std::vector<PoolTable> pool = sample_pool(seed);
    REQUIRE(pool.size() == 856);
    const auto [least, most] = std::ranges::minmax(pool, {}, &PoolTable::rows);
    CHECK(least.rows == 1);
    CHECK(most.rows == 12'543'670);
    CHECK(total(pool, &PoolTable::rows) / 856 == doctest::Approx(4'107'458).epsilon(1e-9));
    CHECK(total(pool, &PoolTable::lookups) == 887'017'990);
    CHECK(total(pool, &PoolTable::distinct) == 128'435'723);
    double whole = 0, largest = 0, smallest = 1e9;
    for (const PoolTable& table : pool) {
      whole += std::floor(table.pooling());
      largest = std::max(largest, table.pooling());
      smallest = std::min(smallest, table.pooling());
      CHECK(table.distinct <= std::min(table.rows, table.lookups));
    }
    CHECK(std::floor(whole / 856) == 15);
    CHECK(std::floor(largest) == 193);
    CHECK(std::floor(smallest) == 0);
  }
}

TEST_CASE("rows of the pool are met as often as published, by its figures and by what is drawn from it" *
          doctest::test_suite("long")) {
  const std::vector<PoolTable> pool = sample_pool(0);
  ReuseBins rows{};
  MetRows drawn;
  double lookups = 0;
  for (const PoolTable& table : pool) {
    for (int k = 0; k < kReuseBins; ++k) rows[k] += static_cast<double>(table.distinct) * table.bins[k];
    double weights = 0;
    for (const AccessSpec::Step& step : table.steps) weights += static_cast<double>(step.rows) * step.weight;
    const double scale = static_cast<double>(table.lookups) / weights;
    for (const AccessSpec::Step& step : table.steps) drawn.add(scale * step.weight, static_cast<double>(step.rows));
    lookups += static_cast<double>(table.lookups);
  }
  CHECK(drawn.distinct == doctest::Approx(128'435'723).epsilon(1e-4));
  for (int k = 0; k < kReuseBins; ++k) {
    CAPTURE(k);
    CHECK(std::abs(rows[k] / 128'435'723 - PoolFacts::kDistinctShare[k]) <= 0.005);
    CHECK(std::abs(rows[k] * mean_counts()[k] / 887'017'990 - PoolFacts::kLookupShare[k]) <= 0.005);
    CHECK(std::abs(drawn.rows[k] / drawn.distinct - PoolFacts::kDistinctShare[k]) <= 0.005);
    CHECK(std::abs(drawn.lookups[k] / lookups - PoolFacts::kLookupShare[k]) <= 0.005);
  }
}

TEST_CASE("rows and pooling factors of the pool have nothing to do with each other; seeds differ in the dealing alone" *
          doctest::test_suite("long")) {
  const std::vector<PoolTable> pool = sample_pool(0), other = sample_pool(5);
  double mean_rows = 0, mean_lookups = 0, covariance = 0, rows_square = 0, lookups_square = 0;
  for (const PoolTable& table : pool) {
    mean_rows += static_cast<double>(table.rows) / 856;
    mean_lookups += static_cast<double>(table.lookups) / 856;
  }
  for (const PoolTable& table : pool) {
    const double r = static_cast<double>(table.rows) - mean_rows, l = static_cast<double>(table.lookups) - mean_lookups;
    covariance += r * l;
    rows_square += r * r;
    lookups_square += l * l;
  }
  CHECK(std::abs(covariance) / std::sqrt(rows_square * lookups_square) < 0.1);
  std::multiset<std::int64_t> rows, other_rows;
  for (const PoolTable& table : pool) rows.insert(table.rows);
  for (const PoolTable& table : other) other_rows.insert(table.rows);
  CHECK(rows == other_rows);
  CHECK(pool[0].rows != other[0].rows);
}

TEST_CASE("the pool's file is a workload that says the same" * doctest::test_suite("long")) {
  const std::vector<PoolTable> pool = sample_pool(3);
  const std::string text = pool_to_yaml(pool, 3);
  CHECK(text.size() < 600'000);
  const Workload workload = parsed(text);
  REQUIRE(workload.tables.size() == pool.size());
  double lookups = 0, distinct = 0;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const Table& table = workload.tables[i];
    CHECK(table.rows == static_cast<std::uint64_t>(pool[i].rows));
    CHECK(table.access.steps == pool[i].steps);
    lookups += 65536 * table.average_length;
    if (i % 16 != 0) continue;
    distinct += table.distribution().expected_distinct(0, table.rows, 65536 * table.average_length) -
                static_cast<double>(pool[i].distinct);
  }
  CHECK(lookups == 887'017'990);
  CHECK(std::abs(distinct) <= 2e-3 * 128'435'723 / 16);
}

}  // namespace shardsim::table_pool_test
