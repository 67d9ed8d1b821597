#include <doctest/doctest.h>

#include "plan/check.h"
#include "plan/flexshard_equations.h"
#include "tests/plan/test_setting.h"

using namespace shardsim;

// FlexShard paper, Table 5, and plans derived from distributions fitted to it (tests/plan/data, docs/flexshard.md).

namespace {

const std::string kTwo = "{name: flexshard_2tier}";
const std::string kPaper = "{name: flexshard_3tier, flex_stop: off}";

struct Tiers {
  std::int64_t dp = 0, flex = 0, row_wise = 0;
};

Tiers tiers_of(const Plan& plan, int table = 0) {
  return {rows_of(plan, Strategy::data_parallel, table), rows_of(plan, Strategy::flex, table),
          rows_of(plan, Strategy::row_wise, table)};
}

std::uint64_t unsigned_rows(std::int64_t rows) {
  return static_cast<std::uint64_t>(rows);
}

// Share of the accesses, %, of the rows [first, first + count).
double coverage(const Table& table, std::int64_t first, std::int64_t count) {
  const AccessDistribution rows = table.distribution();
  return 100 * rows.sum(unsigned_rows(first), unsigned_rows(first + count)) / rows.total();
}

// Memory over all row-wise of one table's tiers, from the equations, bytes per GPU.
double extra_memory(const Table& table, const Tiers& tiers) {
  const CostParameters cost;
  const double flex = static_cast<double>(tiers.flex) * 1024 * cost.flex_over_rw();
  return dp_memory_delta(cost, table.distribution(), 1024, unsigned_rows(tiers.dp)) + flex;
}

std::int64_t distance(std::int64_t a, std::int64_t b) {
  return std::abs(a - b);
}

struct Study {
  nlohmann::json points = flexshard_points();
  Cluster cluster = test_cluster(4, 8);

  Table table(const std::string& model) const { return study_table(points, model); }
  Plan plan(const std::string& yaml, const std::string& model) const {
    return plan_by(yaml, workload_of({table(model)}), cluster);
  }
  std::string paper_options(const std::string& model) const {
    if (model != "RM-2_flex_stop") return kPaper;
    return fmt::format("{{name: flexshard_3tier, flex_stop: {}}}", points["models"][model]["flex_stop"].get<double>());
  }
};

}  // namespace

TEST_CASE("fitted lengths: L of each model to 1e-4") {
  const Study study;
  for (const auto& [model, entry] : study.points["models"].items()) {
    CHECK(std::abs(study.table(model).distribution().total() - entry["average_length"].get<double>()) <= 1e-4);
  }
}

TEST_CASE("two tiers of every model within 32 rows, coverage within 0.005 points") {
  const Study study;
  for (const auto& [model, entry] : study.points["models"].items()) {
    CAPTURE(model);
    const Tiers tiers = tiers_of(study.plan(kTwo, model));
    CHECK(distance(tiers.dp, entry["two_tier"]["dp"]) <= 32);
    CHECK(tiers.flex == 0);
    CHECK(std::abs(coverage(study.table(model), 0, tiers.dp) - entry["two_tier"]["dp_coverage"].get<double>()) <=
          0.005);
  }
}

TEST_CASE("two tiers with rounding 1 are the unrounded point B within two rows") {
  const Study study;
  for (const auto& [model, entry] : study.points["models"].items()) {
    CAPTURE(model);
    const Tiers tiers = tiers_of(study.plan("{name: flexshard_2tier, rounding: 1}", model));
    CHECK(distance(tiers.dp, entry["b"]) <= 2);
  }
}

TEST_CASE("three tiers, paper's cut, of every model within 32 rows, coverage within 0.005 points") {
  const Study study;
  for (const auto& [model, entry] : study.points["models"].items()) {
    CAPTURE(model);
    const Tiers tiers = tiers_of(study.plan(study.paper_options(model), model));
    const Table table = study.table(model);
    CHECK(distance(tiers.dp, entry["paper"]["dp"]) <= 32);
    CHECK(distance(tiers.flex, entry["paper"]["flex"]) <= 32);
    CHECK(std::abs(coverage(table, 0, tiers.dp) - entry["paper"]["dp_coverage"].get<double>()) <= 0.005);
    CHECK(std::abs(coverage(table, tiers.dp, tiers.flex) - entry["paper"]["flex_coverage"].get<double>()) <= 0.005);
  }
}

TEST_CASE("tiers add up, divide by 32, and stay neutral in memory") {
  const Study study;
  for (const auto& [model, entry] : study.points["models"].items()) {
    for (const std::string& yaml : {kTwo, study.paper_options(model)}) {
      CAPTURE(model);
      CAPTURE(yaml);
      const Tiers tiers = tiers_of(study.plan(yaml, model));
      CHECK(tiers.dp + tiers.flex + tiers.row_wise == entry["rows"].get<std::int64_t>());
      CHECK(tiers.dp % 32 == 0);
      CHECK(tiers.flex % 32 == 0);
      const double extra = extra_memory(study.table(model), tiers);
      CHECK(extra <= 0);
      if (model != "RM-2_flex_stop" || yaml == kTwo) CHECK(extra > -0.15e6);
    }
  }
}

TEST_CASE("Table 5 as printed: rows and coverage of the fitted models") {
  const Study study;
  struct Allowed {
    double rows, coverage;
  };
  for (const auto& [model, entry] : study.points["models"].items()) {
    const std::string printed = model == "RM-2_flex_stop" ? "RM-2" : model;
    const Allowed allowed = model == "RM-2_flex_stop" ? Allowed{0.0003, 0.01}
                            : model == "RM-2"         ? Allowed{0.005, 0.05}
                                                      : Allowed{0.001, 0.02};
    for (const auto& row : study.points["table5"]) {
      if (row[0] != printed) continue;
      CAPTURE(model);
      CAPTURE(row[1].get<std::string>());
      const Tiers tiers = tiers_of(study.plan(row[1] == "2-tier" ? kTwo : study.paper_options(model), model));
      const Table table = study.table(model);
      CHECK(std::abs(static_cast<double>(tiers.dp) / row[2].get<double>() - 1) <= allowed.rows);
      CHECK(std::abs(coverage(table, 0, tiers.dp) - row[4].get<double>()) <= allowed.coverage);
      if (row[1] == "2-tier") continue;
      CHECK(std::abs(static_cast<double>(tiers.flex) / row[3].get<double>() - 1) <= allowed.rows);
      CHECK(std::abs(coverage(table, tiers.dp, tiers.flex) - row[5].get<double>()) <= allowed.coverage);
    }
  }
}

TEST_CASE("the stop from bandwidths cuts RM-2 alone") {
  const Study study;
  for (const auto& [model, entry] : study.points["models"].items()) {
    if (model == "RM-2_flex_stop") continue;
    CAPTURE(model);
    const Tiers tiers = tiers_of(study.plan("{name: flexshard_3tier}", model));
    CHECK(distance(tiers.dp, entry["bandwidth_stop"]["dp"]) <= 32);
    CHECK(distance(tiers.flex, entry["bandwidth_stop"]["flex"]) <= 32);
  }
  const Tiers rm2 = tiers_of(study.plan("{name: flexshard_3tier}", "RM-2"));
  CHECK(std::abs(-extra_memory(study.table("RM-2"), rm2) / 1e6 - 1137.6) <= 0.1);
}

TEST_CASE("crossover cut and optimum of every model within 32 rows, at the least time") {
  const Study study;
  for (const auto& [model, entry] : study.points["models"].items()) {
    for (const char* cut : {"crossover", "optimal"}) {
      CAPTURE(model);
      CAPTURE(cut);
      const bool stopped = model == "RM-2_flex_stop" && std::string(cut) == "crossover";
      const std::string stop = stopped ? fmt::format("{}", entry["flex_stop"].get<double>()) : "off";
      const Plan plan = study.plan(fmt::format("{{name: flexshard_3tier, cut: {}, flex_stop: {}}}", cut, stop), model);
      const Tiers tiers = tiers_of(plan);
      CHECK(distance(tiers.dp, entry[cut]["dp"]) <= 32);
      CHECK(distance(tiers.flex, entry[cut]["flex"]) <= 32);
      CHECK(extra_memory(study.table(model), tiers) <= 0);
      const TierTimes times =
          tier_times({}, study.table(model).distribution(), 1024, unsigned_rows(tiers.dp), unsigned_rows(tiers.flex));
      CHECK(std::abs(times.sum() * 1e3 - entry[cut]["sum_ms"].get<double>()) <= 0.01);
    }
  }
}

TEST_CASE("no plan on a grid of cuts beats the optimum") {
  const Study study;
  const AccessDistribution rows = study.table("RM-3").distribution();
  const Tiers best = tiers_of(study.plan("{name: flexshard_3tier, cut: optimal, flex_stop: off}", "RM-3"));
  const double least = tier_times({}, rows, 1024, unsigned_rows(best.dp), unsigned_rows(best.flex)).sum();
  const CostParameters cost;
  for (std::uint64_t dp = 0; dp <= 200'000; dp += 2'000) {
    const double left = -dp_memory_delta(cost, rows, 1024, dp);
    if (left < 0) continue;
    const auto flex = static_cast<std::uint64_t>(left / 1024 / cost.flex_over_rw());
    CHECK(tier_times(cost, rows, 1024, dp, flex).sum() >= least * (1 - 1e-4));
  }
}

TEST_CASE("the two-tier budget curve within two rows and 0.02 ms; no plan where the paper's equations have none") {
  const Study study;
  for (const auto& [model, entry] : study.points["models"].items()) {
    const AccessDistribution rows = study.table(model).distribution();
    for (const auto& budget : entry["budgets"]) {
      CAPTURE(model);
      CAPTURE(budget[0].get<int>());
      const auto plan = [&] {
        return study.plan(
            fmt::format("{{name: flexshard_2tier, rounding: 1, memory_budget: \"{} MB\"}}", budget[0].get<int>()),
            model);
      };
      if (budget[1] == 0) {
        CHECK_THROWS_AS(plan(), Error);
        continue;
      }
      const Tiers tiers = tiers_of(plan());
      CHECK(distance(tiers.dp, budget[1]) <= 2);
      const double ms = dp_time_delta({}, rows, 1024, unsigned_rows(tiers.dp)) * 1e3;
      CHECK(std::abs(ms - budget[2].get<double>()) <= 0.02);
    }
  }
}

TEST_CASE("tables merged by probability, mixed row sizes: within 64 rows, and never less coverage than apart") {
  const Study study;
  for (const auto& merge : study.points["merges"]) {
    std::vector<Table> tables;
    for (const auto& entry : merge["tables"]) {
      tables.push_back(study.table(entry["model"]));
      tables.back().dim = entry["row_bytes"].get<std::int64_t>() / 4;
    }
    const Workload workload = workload_of(tables);
    const Plan two = plan_by(kTwo, workload, study.cluster);
    const Plan three = plan_by(kPaper, workload, study.cluster);
    double merged = 0, apart = 0, total = 0;
    for (std::size_t t = 0; t < tables.size(); ++t) {
      CAPTURE(tables[0].name + " + " + tables[1].name);
      CAPTURE(t);
      const int index = static_cast<int>(t);
      CHECK(distance(tiers_of(two, index).dp, merge["two_tier_dp_rows"][t]) <= 64);
      CHECK(distance(tiers_of(three, index).dp, merge["three_tier_dp_rows"][t]) <= 64);
      CHECK(distance(tiers_of(three, index).flex, merge["three_tier_flex_rows"][t]) <= 64);
      const AccessDistribution rows = tables[t].distribution();
      const double bytes = static_cast<double>(tables[t].row_bytes());
      const Plan alone = plan_by(kTwo, workload_of({tables[t]}), study.cluster);
      merged += bytes * rows.prefix(unsigned_rows(tiers_of(two, index).dp));
      apart += bytes * rows.prefix(unsigned_rows(tiers_of(alone).dp));
      total += bytes * rows.total();
    }
    CHECK(std::abs(100 * merged / total - merge["two_tier_coverage_pct_of_bytes"].get<double>()) <= 0.005);
    CHECK(std::abs(100 * apart / total - merge["separate_two_tier_coverage_pct_of_bytes"].get<double>()) <= 0.005);
    CHECK(merged >= apart);
  }
}

TEST_CASE("a table of 10^10 rows is cut where its 30-million-row head says") {
  const Study study;
  const auto& large = study.points["large_table"];
  const Table table = power_law_table("huge", large["rows"], large["knot_rank_fractions"], large["ln_p_at_knots"]);
  CHECK(std::abs(table.distribution().total() - large["L_items_per_sample"].get<double>()) <= 1e-4);
  const Tiers two = tiers_of(plan_by(kTwo, workload_of({table}), study.cluster));
  CHECK(distance(two.dp, 346'176) <= 32);
  CHECK(std::abs(coverage(table, 0, two.dp) - 27.475) <= 0.005);
  const Tiers three = tiers_of(plan_by(kPaper, workload_of({table}), study.cluster));
  CHECK(distance(three.dp, 100'032) <= 32);
  CHECK(distance(three.flex, 1'184'448) <= 32);
  CHECK(distance(three.row_wise, 9'998'715'520) <= 64);
  CHECK(std::abs(coverage(table, 0, three.dp) - 19.258) <= 0.005);
  CHECK(std::abs(coverage(table, three.dp, three.flex) - 16.016) <= 0.005);
  const NamedPoints named = named_points({}, table.distribution());
  CHECK(distance(static_cast<std::int64_t>(named.c), 2'894'251) <= 2);
}

TEST_CASE("Zipf-Mandelbrot fits give the plans of the same equations within 32 rows") {
  const Study study;
  for (const auto& [model, entry] : study.points["zipf_mandelbrot"].items()) {
    CAPTURE(model);
    Table table = sequence_table(model, study.points["models"][model]["rows"]);
    table.average_length = 0;
    table.access.family = "zipf_mandelbrot";
    table.access.c = entry["C"];
    table.access.q = entry["q"];
    table.access.s = entry["s"];
    CHECK(std::abs(table.distribution().total() - entry["L_items_per_sample"].get<double>()) <= 1e-3);
    CHECK(distance(tiers_of(plan_by(kTwo, workload_of({table}), study.cluster)).dp, entry["two_tier_dp_rows"]) <= 32);
    const Tiers three = tiers_of(plan_by(kPaper, workload_of({table}), study.cluster));
    CHECK(distance(three.dp, entry["three_tier_dp_rows"]) <= 32);
    CHECK(distance(three.flex, entry["three_tier_flex_rows"]) <= 32);
  }
}

TEST_CASE("a budget below the lowest point is infeasible and names the smallest one, which then works") {
  const Study study;
  const auto plan_with = [&](const std::string& budget) {
    return study.plan("{name: flexshard_3tier, flex_stop: off, memory_budget: \"" + budget + "\"}", "RM-1");
  };
  try {
    plan_with("-900 MB");
    FAIL("RM-1 saves 871.8 MB at most (point A)");
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::infeasible);
    const std::string text = error.what();
    CHECK(has(text, "options.yaml:1"));
    const std::string before = "The smallest memory_budget that works is \"";
    REQUIRE(has(text, before));
    const std::string smallest =
        text.substr(text.find(before) + before.size(), text.rfind('"') - text.find(before) - before.size());
    CHECK(std::abs(std::stod(smallest) / 1e6 + 871.8) <= 0.1);
    CHECK(tiers_of(plan_with(smallest)).dp == 100'032);
  }
}

TEST_CASE("memory_limit is the budget over row-wise, 9.0209 GB for RM-1") {
  const Study study;
  const Tiers limited = tiers_of(study.plan("{name: flexshard_2tier, memory_limit: \"9020900 KB\"}", "RM-1"));
  CHECK(distance(limited.dp, 346'176) <= 128);  // 9.0209 GB is rounded to 0.05 MB, some ten rows
  const std::string text = error_of([&] { study.plan("{name: flexshard_2tier, memory_limit: \"8 GB\"}", "RM-1"); });
  CHECK(has(text, "The smallest memory_limit that works is"));
  CHECK(has(error_of([] {
              make_planner(options("{name: flexshard_2tier, memory_limit: \"1 GB\", memory_budget: \"0 B\"}"));
            }),
            "not both"));
}

TEST_CASE("with DP slower than the exchange, the fewest DP rows that meet the budget are taken") {
  const Study study;
  // all_to_all_global / all_reduce_global above 11.9 puts p_comm above p_memory (reversed range).
  const std::string rates = "bandwidths: {all_to_all_global: \"50 GB/s\", all_reduce_global: \"2 GB/s\"}";
  const AccessDistribution rows = study.table("RM-1").distribution();
  CostParameters cost;
  cost.bandwidths.all_to_all_global = 50e9;
  cost.bandwidths.all_reduce_global = 2e9;
  const NamedPoints named = named_points(cost, rows);
  REQUIRE(named.c < named.a);
  const Tiers neutral = tiers_of(study.plan("{name: flexshard_2tier, rounding: 1, " + rates + "}", "RM-1"));
  CHECK(unsigned_rows(neutral.dp) == named.c);
  const Tiers tight =
      tiers_of(study.plan("{name: flexshard_2tier, rounding: 1, memory_budget: \"-860 MB\", " + rates + "}", "RM-1"));
  CHECK(unsigned_rows(tight.dp) > named.c);
  CHECK(unsigned_rows(tight.dp) < named.a);
  CHECK(dp_memory_delta(cost, rows, 1024, unsigned_rows(tight.dp)) <= -860e6);
  CHECK(dp_memory_delta(cost, rows, 1024, unsigned_rows(tight.dp) - 1) > -860e6);
}

TEST_CASE("without the cap the two-tier plan goes past the fastest point up to the budget") {
  const Study study;
  const Tiers capped = tiers_of(study.plan("{name: flexshard_2tier, rounding: 1, memory_budget: \"10 GB\"}", "RM-2"));
  CHECK(distance(capped.dp, 1'212'600) <= 2);
  const Tiers free = tiers_of(
      study.plan("{name: flexshard_2tier, rounding: 1, memory_budget: \"10 GB\", cap_at_comm_neutral: false}", "RM-2"));
  const AccessDistribution rows = study.table("RM-2").distribution();
  CHECK(dp_memory_delta({}, rows, 1024, unsigned_rows(free.dp)) <= 10e9);
  CHECK(dp_memory_delta({}, rows, 1024, unsigned_rows(free.dp) + 1) > 10e9);
}

TEST_CASE("rows of equal probability are cut in table order") {
  std::vector<Table> tables = {sequence_table("a", 1000), sequence_table("b", 1000)};
  for (Table& table : tables) table.average_length = 1;  // p = 1e-3: DP costs 5.96875 - 4.096 = 1.87275 row units
  const Cluster cluster = test_cluster(4, 8);
  const Workload workload = workload_of(tables);
  const auto dp = [&](const std::string& budget) {
    const Plan plan =
        plan_by("{name: flexshard_2tier, rounding: 1, memory_budget: \"" + budget + "\"}", workload, cluster);
    return std::pair{tiers_of(plan, 0).dp, tiers_of(plan, 1).dp};
  };
  CHECK(dp("0 B") == std::pair<std::int64_t, std::int64_t>{0, 0});
  CHECK(dp("1000000 B") == std::pair<std::int64_t, std::int64_t>{521, 0});    // 1e6 / (1.87275 * 1024) = 521.4
  CHECK(dp("2000000 B") == std::pair<std::int64_t, std::int64_t>{1000, 42});  // 1042.9
}

TEST_CASE("small and uniform tables still cover every row once") {
  const Cluster cluster = test_cluster(2, 4);
  for (const std::uint64_t rows : {1, 7, 8, 9, 63, 1000}) {
    for (const std::string& yaml :
         {std::string("{name: flexshard_2tier, memory_budget: \"1 GB\"}"),
          std::string("{name: flexshard_3tier, memory_budget: \"1 MB\"}"),
          std::string("{name: flexshard_3tier, memory_budget: \"1 MB\", cut: optimal, flex_stop: off}"),
          std::string("{name: flexshard_3tier, memory_budget: \"1 MB\", cut: crossover, flex_stop: off}")}) {
      CAPTURE(rows);
      CAPTURE(yaml);
      const Workload workload = workload_of({sequence_table("t", rows)}, 32);
      CHECK_NOTHROW(check_plan(plan_by(yaml, workload, cluster), workload, cluster, {}));
    }
  }
}

TEST_CASE("an optimum inside a run of equal rows spends the budget on part of the run") {
  std::vector<Table> tables = {sequence_table("t", 100'000)};
  tables[0].average_length = 50;  // p = 5e-4: Flex saves time, and costs 0.71875 row units
  const Plan plan = plan_by("{name: flexshard_3tier, cut: optimal, memory_budget: \"10 MB\"}", workload_of(tables),
                            test_cluster(4, 8));
  CHECK(tiers_of(plan).dp == 0);
  CHECK(tiers_of(plan).flex == 13'568);  // 1e7 / (0.71875 * 1024) = 13,586.9, down to a multiple of 32
}

TEST_CASE("pooled tables are refused by name, and bandwidths can come from a simulator") {
  const Study study;
  Workload workload = workload_of({study.table("RM-2"), sequence_table("bags", 1000)});
  workload.tables[1].kind = TableKind::pooled;
  const std::string text = error_of([&] { plan_by(kTwo, workload, study.cluster); });
  CHECK(has(text, "'bags'"));
  CHECK(has(text, "pooled"));

  const auto planner = make_planner(options("{name: flexshard_3tier, bandwidths: simulated}"));
  const auto memory = paper_memory();
  const Workload rm2 = workload_of({study.table("RM-2")});
  CHECK(has(error_of([&] { planner->plan(rm2, study.cluster, {*memory, 1, {}}); }), "simulated"));
  PlannerBandwidths fast;
  fast.all_reduce_cross = 75.9e9;  // p_flex_stop 7.47e-6, below the last Flex row of RM-2: the stop no longer binds
  const Plan plan = planner->plan(rm2, study.cluster, {*memory, 1, [&] { return fast; }});
  CHECK(distance(tiers_of(plan).flex, 2'404'576) <= 32);
}

TEST_CASE("planner options that make no sense are refused with their place") {
  for (const char* yaml :
       {"{name: flexshard_3tier, flex_stop: never}", "{name: flexshard_3tier, flex_stop: 0}",
        "{name: flexshard_3tier, flex_stop: nan}", "{name: flexshard_3tier, cut: best}",
        "{name: flexshard_2tier, cut: optimal}", "{name: flexshard_2tier, memory_budget: 5}",
        "{name: flexshard_2tier, rounding: 0}", "{name: flexshard_2tier, bandwidths: guessed}",
        "{name: flexshard_2tier, bandwidths: {all_to_all: \"1 GB/s\"}}",
        "{name: flexshard_2tier, all_to_all_passes: 0}", "{name: flexshard_2tier, memory_limit: \"-1 B\"}"}) {
    CAPTURE(yaml);
    CHECK(has(error_of([&] { make_planner(options(yaml)); }), "options.yaml:1"));
  }
}
