#include "sim/lower/draws/row_draws.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "base/tree/yaml.h"
#include "models/load/row_shares.h"
#include "program/program.h"
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

Cluster node() {
  return Cluster(cluster_spec("dgx_a100_80gb.yaml", 1));
}

RowDraws draws_of(const Workload& workload, const LoweringOptions& options = {}) {
  return {row_wise(workload), workload, node(), options};
}

// The load of a draw, in any unit, from the shares of the owners themselves, whose rows are placed one by one. Rows and
// their gradients are read, and 7 of 8 ids come over NVLink, at a seventh of the rate of memory.
double placed_load(const Workload& workload, int draw) {
  std::vector<double> read(8, 0.0), asked(8, 0.0);
  for (const Table& table : workload.tables) {
    const RowOwners owners(table.rows, 8, RowOrder::random, RowCut::blocks,
                           {row_key(table), static_cast<std::uint64_t>(draw), 0});
    const RowLaw law(table.distribution(), 0, table.rows);
    const std::vector<double> shares = RowShares(law, owners).shares();
    for (std::size_t owner = 0; owner < read.size(); ++owner) {
      read[owner] += 2 * shares[owner] * law.total() * static_cast<double>(table.row_bytes());
      asked[owner] += shares[owner] * law.total() * static_cast<double>(workload.id_bytes);
    }
  }
  return std::ranges::max(read) + 7 * 7.0 / 8 * std::ranges::max(asked);
}

// Worlds that are small enough to try ask for no share.
double unasked() {
  throw std::logic_error("asked for a share");
}

}  // namespace

TEST_CASE("loads of draws are those of the owners that the hash gives") {
  const Workload workload = three_tables();
  const RowDraws draws = draws_of(workload);
  REQUIRE(draws.any());
  REQUIRE(draws.loads().size() == kRowDraws);
  std::vector<double> loads;
  for (int draw = 1; draw <= kRowDraws; ++draw) loads.push_back(placed_load(workload, draw));
  for (std::size_t draw = 0; draw < loads.size(); ++draw) {
    CAPTURE(draw);
    CHECK(draws.loads()[draw] == doctest::Approx(loads[draw] / median(loads)).epsilon(0.01));
  }
  CHECK(draws.spread() > 0.05);
}

TEST_CASE("the typical draw is the nearest to the median") {
  const RowDraws draws = draws_of(three_tables());
  const auto load = [&](int draw) { return draws.loads()[static_cast<std::size_t>(draw - 1)]; };
  for (const double each : draws.loads()) CHECK(std::abs(each - 1) >= std::abs(load(draws.typical()) - 1));
}

TEST_CASE("names of tables and seeds of plans change no draw") {
  CHECK(draws_of(three_tables()).loads() == draws_of(three_tables("zebra", "ape")).loads());
  const Workload workload = three_tables();
  Plan seeded = row_wise(workload);
  seeded.hash_seed = 99;
  CHECK(RowDraws(seeded, workload, node(), {}).loads() == draws_of(workload).loads());
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
  CHECK_FALSE(RowDraws(plan, whole, node(), {}).any());
}

TEST_CASE("every draw is tried, and the typical one is what the others are compared with") {
  const RowDraws draws = draws_of(three_tables());
  std::vector<int> asked;
  const auto time = [&](int draw) {
    asked.push_back(draw);
    return 7.0 * (40 + draw % 5);
  };
  const std::vector<double> times = draws.log_times(time, unasked);
  CHECK(asked.size() == kRowDraws);
  REQUIRE(times.size() == kRowDraws);
  CHECK(times[static_cast<std::size_t>(draws.typical() - 1)] == 0);
  for (int draw = 1; draw <= kRowDraws; ++draw)
    CHECK(times[static_cast<std::size_t>(draw - 1)] == doctest::Approx(std::log(time(draw) / time(draws.typical()))));
}

// Fewer rows are placed one by one, which must not be seen in what the draws differ by.
TEST_CASE("a draw that is tried takes about as long as one with all its rows in place") {
  for (const double s : {0.9, 1.1, 1.4}) {
    CAPTURE(s);
    const Workload workload = three_tables("a", "b", s);
    const Plan plan = row_wise(workload);
    const Cluster cluster = node();
    std::vector<double> whole, tried;
    for (int draw = 1; draw <= kRowDraws; ++draw) {
      LoweringOptions options;
      options.row_draw = draw;
      whole.push_back(simulated(lower(plan, workload, cluster, options), cluster).iteration_ms);
      tried.push_back(simulated(lower(plan, workload, cluster, RowDraws::tried({}, draw)), cluster).iteration_ms);
    }
    for (std::size_t draw = 0; draw < whole.size(); ++draw) {
      CAPTURE(draw);
      CHECK(tried[draw] / tried[0] == doctest::Approx(whole[draw] / whole[0]).epsilon(0.005));
    }
  }
}

// One rank looks up by far the most bytes, wherever rows lie; the exchange of a history decides the time.
TEST_CASE("what is told is the median of fixed placements where the fullest rank does not decide the time") {
  const Workload workload =
      read_workload(parse_yaml("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 512\ntables:\n"
                               "- {name: large, rows: 1000000, dim: 128, kind: pooled, pooling_factor: 200}\n"
                               "- {name: history, rows: 2000000, dim: 64, kind: sequence, average_length: 120, access: "
                               "{family: zipf, s: 1.3}}\n"
                               "- {name: clicks, rows: 900000, dim: 64, kind: sequence, average_length: 30, access: "
                               "{family: zipf, s: 1.05}}\n",
                               "test"),
                    "");
  const Cluster cluster(cluster_spec("dgx_a100_80gb.yaml", 2));
  Plan plan = row_wise(workload, 16);
  plan.placements[0].strategy = Strategy::table_wise;
  plan.placements[0].holders = {{3}};
  const auto ms = [&](const LoweringOptions& options) {
    return simulated(lower(plan, workload, cluster, with_placed_rows(options, plan, workload, cluster)), cluster)
        .iteration_ms;
  };
  std::vector<double> fixed;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    LoweringOptions options;
    options.load.placement = seed;
    fixed.push_back(ms(options));
  }
  CHECK(quantile(fixed, 0.9) > 1.03 * quantile(fixed, 0.1));
  CHECK(ms({}) == doctest::Approx(median(fixed)).epsilon(0.02));

  const RowDraws draws(plan, workload, cluster, {});
  std::vector<double> drawn;
  for (int draw = 1; draw <= kRowDraws; ++draw) {
    LoweringOptions options;
    options.row_draw = draw;
    drawn.push_back(ms(options));
  }
  CHECK(spearman(draws.loads(), drawn) > 0.9);
  const auto time = [&](int draw) { return drawn[static_cast<std::size_t>(draw - 1)]; };
  const std::vector<double> times = draws.log_times(time, unasked);
  REQUIRE(times.size() == kRowDraws);
  CHECK(ms({}) * std::exp(quantile(times, 0.1)) == doctest::Approx(quantile(fixed, 0.1)).epsilon(0.03));
  CHECK(ms({}) * std::exp(quantile(times, 0.9)) == doctest::Approx(quantile(fixed, 0.9)).epsilon(0.03));
}

TEST_CASE("in a world that is too large to try, the share of the time that rows move grows with the load") {
  const Workload workload = three_tables();
  const Cluster cluster(cluster_spec("dgx_a100_80gb.yaml", kMostTried / 8 + 1));
  const RowDraws draws(row_wise(workload, cluster.world_size()), workload, cluster, {});
  const auto never = [](int) -> double { throw std::logic_error("asked"); };
  REQUIRE(draws.spread() > kLeastRowSpread);
  const std::vector<double> all = draws.log_times(never, [] { return 1.0; }),
                            quarter = draws.log_times(never, [] { return 0.25; });
  REQUIRE(all.size() == kRowDraws);
  for (std::size_t draw = 0; draw < all.size(); ++draw) {
    CHECK(std::exp(quarter[draw]) - 1 == doctest::Approx(0.25 * (std::exp(all[draw]) - 1)));
  }
  for (const double none : draws.log_times(never, [] { return 0.0; })) CHECK(none == 0);
}

TEST_CASE("draws that differ by less than repeated runs are not tried") {
  const RowDraws draws = draws_of(three_tables("a", "b", 0.3));
  REQUIRE(draws.spread() < kLeastRowSpread);
  CHECK(draws.log_times([](int) -> double { throw std::logic_error("asked"); }, unasked).empty());
}

TEST_CASE("a Program has its rows where the options put them") {
  const Workload workload = three_tables();
  const Plan plan = row_wise(workload);
  const Cluster cluster(cluster_spec("dgx_a100_80gb.yaml", 1));
  const LoweringOptions typical = with_placed_rows({}, plan, workload, cluster);
  CHECK(typical.row_draw == draws_of(workload).typical());
  const Program program = lower(plan, workload, cluster, typical);
  CHECK(program.hash_seed == static_cast<std::uint64_t>(*typical.row_draw));
  CHECK(row_hash(program, program.shards[1]).table == "100000 rows, number 2");
  LoweringOptions fixed;
  fixed.load.placement = 12;
  const Program by_names = lower(plan, workload, cluster, with_placed_rows(fixed, plan, workload, cluster));
  CHECK(by_names.hash_seed == 12);
  CHECK(row_hash(by_names, by_names.shards[1]).table == "b");
}

}  // namespace shardsim::row_draws_test
