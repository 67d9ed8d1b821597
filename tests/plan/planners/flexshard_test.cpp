#include <doctest/doctest.h>

#include "plan/flexshard_equations.h"
#include "tests/plan/planners/flexshard_study.h"
#include "tests/plan/tier_times.h"

namespace shardsim::flexshard_test {

// FlexShard paper, Table 5, and plans derived from distributions fitted to it (tests/plan/data, docs/flexshard.md).

TEST_CASE("fitted lengths: L of each model to 1e-4") {
  const Study study;
  for (const auto& item : study.points["models"].items()) {
    const std::string& model = item.key();
    const nlohmann::json& entry = item.value();
    CHECK(std::abs(study.table(model).distribution().total() - entry["average_length"].get<double>()) <= 1e-4);
  }
}

TEST_CASE("two tiers of every model within 32 rows, coverage within 0.005 points") {
  const Study study;
  for (const auto& item : study.points["models"].items()) {
    const std::string& model = item.key();
    const nlohmann::json& entry = item.value();
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
  for (const auto& item : study.points["models"].items()) {
    const std::string& model = item.key();
    const nlohmann::json& entry = item.value();
    CAPTURE(model);
    const Tiers tiers = tiers_of(study.plan("{name: flexshard_2tier, rounding: 1}", model));
    CHECK(distance(tiers.dp, entry["b"]) <= 2);
  }
}

TEST_CASE("three tiers, paper's cut, of every model within 32 rows, coverage within 0.005 points") {
  const Study study;
  for (const auto& item : study.points["models"].items()) {
    const std::string& model = item.key();
    const nlohmann::json& entry = item.value();
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
  for (const auto& item : study.points["models"].items()) {
    const std::string& model = item.key();
    const nlohmann::json& entry = item.value();
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
  for (const auto& item : study.points["models"].items()) {
    const std::string& model = item.key();
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
  for (const auto& item : study.points["models"].items()) {
    const std::string& model = item.key();
    const nlohmann::json& entry = item.value();
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
  for (const auto& item : study.points["models"].items()) {
    const std::string& model = item.key();
    const nlohmann::json& entry = item.value();
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
  for (const auto& item : study.points["models"].items()) {
    const std::string& model = item.key();
    const nlohmann::json& entry = item.value();
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
  for (const auto& item : study.points["zipf_mandelbrot"].items()) {
    const std::string& model = item.key();
    const nlohmann::json& entry = item.value();
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

}  // namespace shardsim::flexshard_test
