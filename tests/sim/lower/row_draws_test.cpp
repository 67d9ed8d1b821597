#include "sim/lower/row_draws.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/tree/yaml.h"
#include "models/load/row_shares.h"
#include "program/shard_rows.h"
#include "tests/physics/lab.h"

namespace shardsim::row_draws_test {

using namespace shardsim::physics;

namespace {

// Two skewed tables of 100,000 rows and one that is looked up evenly.
Workload three_tables(const std::string& first = "a", const std::string& second = "b", double s = 1.1) {
  const std::string law = "access: {family: zipf, s: " + std::to_string(s) + "}";
  const std::string of_all = "rows: 100000, dim: 64, kind: pooled, pooling_factor: 10, ";
  return read_workload(parse_yaml("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 512\ntables:\n- {name: " +
                                      first + ", " + of_all + law + "}\n- {name: " + second + ", " + of_all + law +
                                      "}\n- {name: even, rows: 70, dim: 16, kind: pooled}\n",
                                  "test"),
                       "");
}

Plan row_wise(const Workload& workload, int ranks = 8) {
  Plan plan;
  for (std::size_t table = 0; table < workload.tables.size(); ++table) {
    plan.placements.push_back(
        whole_table(static_cast<int>(table), workload.tables[table], Strategy::row_wise, {all_ranks(ranks)}));
  }
  return plan;
}

RowDraws draws_of(const Workload& workload, const LoweringOptions& options = {}) {
  return {row_wise(workload), workload, 8, options};
}

// Load of the fullest rank over the mean one, from the shares of the owners themselves, whose rows are placed one by
// one.
double fullest_times_mean(const Workload& workload, int draw) {
  std::vector<double> load(8, 0.0);
  for (const Table& table : workload.tables) {
    const RowOwners owners(table.rows, 8, RowOrder::random, RowCut::blocks,
                           {row_key(table), static_cast<std::uint64_t>(draw), 0});
    const RowLaw law(table.distribution(), 0, table.rows);
    const std::vector<double> shares = RowShares(law, owners).shares();
    for (std::size_t owner = 0; owner < load.size(); ++owner)
      load[owner] += shares[owner] * law.total() * static_cast<double>(table.row_bytes());
  }
  return *std::ranges::max_element(load) / (std::accumulate(load.begin(), load.end(), 0.0) / 8);
}

}  // namespace

TEST_CASE("loads of draws are those of the owners that the hash gives") {
  const Workload workload = three_tables();
  const RowDraws draws = draws_of(workload);
  REQUIRE(draws.any());
  REQUIRE(draws.loads().size() == kRowDraws);
  double mean = 0;
  for (int draw = 1; draw <= kRowDraws; ++draw) mean += fullest_times_mean(workload, draw) / kRowDraws;
  for (int draw = 1; draw <= kRowDraws; ++draw) {
    CAPTURE(draw);
    CHECK(draws.loads()[static_cast<std::size_t>(draw - 1)] ==
          doctest::Approx(fullest_times_mean(workload, draw) / mean).epsilon(0.01));
  }
  CHECK(draws.spread() > 0.05);
}

TEST_CASE("the typical draw is the nearest to the mean, and quantiles are in order") {
  const RowDraws draws = draws_of(three_tables());
  const auto load = [&](int draw) { return draws.loads()[static_cast<std::size_t>(draw - 1)]; };
  for (const double each : draws.loads()) CHECK(std::abs(each - 1) >= std::abs(load(draws.typical()) - 1));
  CHECK(load(draws.at_quantile(0)) == *std::ranges::min_element(draws.loads()));
  CHECK(load(draws.at_quantile(0.1)) < load(draws.at_quantile(0.9)));
  CHECK(load(draws.at_quantile(1)) == *std::ranges::max_element(draws.loads()));
}

TEST_CASE("names of tables and seeds of plans change no draw") {
  CHECK(draws_of(three_tables()).loads() == draws_of(three_tables("zebra", "ape")).loads());
  const Workload workload = three_tables();
  Plan seeded = row_wise(workload);
  seeded.hash_seed = 99;
  CHECK(RowDraws(seeded, workload, 8, {}).loads() == draws_of(workload).loads());
}

TEST_CASE("nothing depends on the draw of even rows, even shares and fixed placements") {
  CHECK_FALSE(draws_of(three_tables("a", "b", 0)).any());
  LoweringOptions even;
  even.load.row_shares = LoadOptions::RowShares::even;
  CHECK_FALSE(draws_of(three_tables(), even).any());
  LoweringOptions fixed;
  fixed.load.placement = 5;
  CHECK_FALSE(draws_of(three_tables(), fixed).any());
  CHECK(draws_of(three_tables(), fixed).spread() == 0);
  Workload popular = three_tables();
  for (Table& table : popular.tables) table.row_order = RowOrder::popularity;
  CHECK_FALSE(draws_of(popular).any());
  Workload whole = three_tables();
  Plan plan = row_wise(whole);
  for (Placement& placement : plan.placements) {
    placement.strategy = Strategy::table_wise;
    placement.holders = {{0}};
  }
  CHECK_FALSE(RowDraws(plan, whole, 8, {}).any());
}

TEST_CASE("three draws are tried, and the others follow from their loads") {
  const RowDraws draws = draws_of(three_tables());
  std::vector<int> asked;
  const std::vector<double> times = draws.log_times([&](int draw) {
    asked.push_back(draw);
    return 7 * draws.loads()[static_cast<std::size_t>(draw - 1)];
  });
  CHECK(asked.size() == 3);
  REQUIRE(times.size() == kRowDraws);
  CHECK(times[static_cast<std::size_t>(draws.typical() - 1)] == 0);
  for (std::size_t draw = 0; draw < times.size(); ++draw) {
    CAPTURE(draw);
    CHECK(std::exp(times[draw]) == doctest::Approx(draws.loads()[draw]).epsilon(0.05));
  }
}

TEST_CASE("where a load says little of the time, no draw is far from those that were tried") {
  const RowDraws draws = draws_of(three_tables());
  const std::vector<double> loads = draws.loads();
  const double low = loads[static_cast<std::size_t>(draws.at_quantile(0.1) - 1)];
  // A tenth longer at the lower load, and at the higher one three times as long: steeper than any load explains.
  const std::vector<double> times = draws.log_times([&](int draw) {
    if (draw == draws.typical()) return 1.0;
    return loads[static_cast<std::size_t>(draw - 1)] <= low ? 1.1 : 3.0;
  });
  for (std::size_t draw = 0; draw < times.size(); ++draw) {
    CAPTURE(draw);
    CHECK(times[draw] >= -1e-12);
    CHECK(times[draw] <= std::log(3.0) + loads[draw]);
    if (loads[draw] < low) CHECK(times[draw] == doctest::Approx(std::log(1.1)));
  }
}

TEST_CASE("draws that differ by less than repeated runs are not tried") {
  const RowDraws draws = draws_of(three_tables("a", "b", 0.3));
  REQUIRE(draws.spread() < kLeastRowSpread);
  CHECK(draws.log_times([](int) -> double { throw std::logic_error("asked"); }).empty());
}

TEST_CASE("a Program has its rows where the options put them") {
  const Workload workload = three_tables();
  const Plan plan = row_wise(workload);
  const Cluster cluster(cluster_spec("dgx_a100_80gb.yaml", 1));
  const LoweringOptions typical = with_placed_rows({}, plan, workload, 8);
  CHECK(typical.row_draw == draws_of(workload).typical());
  const Program program = lower(plan, workload, cluster, typical);
  CHECK(program.hash_seed == static_cast<std::uint64_t>(*typical.row_draw));
  CHECK(row_hash(program, program.shards[1]).table == "100000 rows, number 2");
  LoweringOptions fixed;
  fixed.load.placement = 12;
  const Program by_names = lower(plan, workload, cluster, with_placed_rows(fixed, plan, workload, 8));
  CHECK(by_names.hash_seed == 12);
  CHECK(row_hash(by_names, by_names.shards[1]).table == "b");
}

}  // namespace shardsim::row_draws_test
