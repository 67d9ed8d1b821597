#include <doctest/doctest.h>
#include <fmt/format.h>

#include "plan/check.h"
#include "plan/flexshard_equations.h"
#include "tests/plan/hand_context.h"
#include "tests/plan/planners/flexshard_study.h"

namespace shardsim::flexshard_options_test {

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
            "cannot be used together"));
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

TEST_CASE("pooled tables beside sequences go to the planner that `pooled` names, by default to torchrec") {
  const Study study;
  Workload workload = workload_of({sequence_table("bags", 1000), study.table("RM-2")});
  workload.tables[0].kind = TableKind::pooled;
  for (const auto& each : {std::pair<std::string, std::string>{"", "torchrec"},
                           {", pooled: row_wise", "row_wise"},
                           {", pooled: {name: column_wise, min_partition: 64}", "column_wise"}}) {
    const std::string option = each.first, planner = each.second;
    CAPTURE(option);
    const Plan plan = plan_by("{name: flexshard_2tier" + option + "}", workload, study.cluster);
    const std::string own = option.find('{') == std::string::npos ? "{name: " + planner + "}" : option.substr(10);
    const Plan bags = plan_by(own, workload_of({workload.tables[0]}), study.cluster);
    const Plan history = plan_by(kTwo, workload_of({workload.tables[1]}), study.cluster);
    REQUIRE(plan.placements.size() == bags.placements.size() + history.placements.size());
    for (std::size_t i = 0; i < plan.placements.size(); ++i) {
      const bool pooled = i < bags.placements.size();
      Placement expected = pooled ? bags.placements[i] : history.placements[i - bags.placements.size()];
      expected.table = pooled ? 0 : 1;
      CHECK(plan.placements[i] == expected);
    }
  }
}

TEST_CASE("a model of pooled tables alone is refused, and so is what cannot plan pooled tables") {
  const Study study;
  Workload workload = workload_of({sequence_table("bags", 1000)});
  workload.tables[0].kind = TableKind::pooled;
  const std::string text = error_of([&] { plan_by(kTwo, workload, study.cluster); });
  CHECK(has(text, "'bags'"));
  CHECK(has(text, "pooled"));
  for (const char* pooled : {"flexshard_3tier", "per_table", "{cut: paper}", "rowwise", "[row_wise]"}) {
    CHECK(has(error_of([&] { make_planner(options(fmt::format("{{name: flexshard_2tier, pooled: {}}}", pooled))); }),
              "options.yaml:1"));
  }
}

TEST_CASE("bandwidths can come from a simulator") {
  const Study study;
  const auto planner = make_planner(options("{name: flexshard_3tier, bandwidths: simulated}"));
  const auto memory = paper_memory();
  const Workload rm2 = workload_of({study.table("RM-2")});
  CHECK(has(error_of([&] { planner->plan(rm2, study.cluster, {*memory, 1, {}}); }), "simulated"));
  PlannerBandwidths fast;
  fast.all_reduce_cross = 75.9e9;  // p_flex_stop 7.47e-6, below the last Flex row of RM-2: the stop no longer binds
  HandContext context{*memory, 1};
  context.simulated_bandwidths = [&] { return fast; };
  const Plan plan = planner->plan(rm2, study.cluster, context);
  CHECK(distance(tiers_of(plan).flex, 2'404'576) <= 32);
}

TEST_CASE("planner options that make no sense are refused with their place") {
  for (const char* yaml :
       {"{name: flexshard_3tier, flex_stop: never}", "{name: flexshard_3tier, flex_stop: 0}",
        "{name: flexshard_3tier, flex_stop: nan}", "{name: flexshard_3tier, cut: best}",
        "{name: flexshard_2tier, cut: optimal}", "{name: flexshard_2tier, flex_stop: off}",
        "{name: flexshard_2tier, bandwidths: {all_reduce_cross: 1 GB/s}}",
        "{name: flexshard_2tier, bandwidths: {all_to_all_intra: 1 GB/s}}",
        "{name: flexshard_3tier, cap_at_comm_neutral: false}", "{name: flexshard_2tier, memory_budget: 5}",
        "{name: flexshard_2tier, rounding: 0}", "{name: flexshard_2tier, bandwidths: guessed}",
        "{name: flexshard_2tier, bandwidths: {all_to_all: \"1 GB/s\"}}",
        "{name: flexshard_2tier, all_to_all_passes: 0}", "{name: flexshard_2tier, memory_limit: \"-1 B\"}"}) {
    CAPTURE(yaml);
    CHECK(has(error_of([&] { make_planner(options(yaml)); }), "options.yaml:1"));
  }
}

}  // namespace shardsim::flexshard_options_test
