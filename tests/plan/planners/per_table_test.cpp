#include <doctest/doctest.h>

#include "plan/check.h"
#include "tests/plan/test_setting.h"

namespace shardsim::per_table_test {
namespace {

Table pooled(const std::string& name, std::uint64_t rows) {
  Table table = sequence_table(name, rows, 128);
  table.kind = TableKind::pooled;
  return table;
}

Workload mixed() {
  return workload_of({pooled("user", 90'000), sequence_table("history_a", 40'000), pooled("ad-id", 70'000),
                      sequence_table("history_b", 20'000)},
                     64);
}

std::string with(const std::string& tables) {
  return "{name: per_table, tables: " + tables + "}";
}

std::vector<Strategy> strategies_of(const Plan& plan) {
  std::vector<Strategy> strategies;
  for (const Placement& placement : plan.placements) strategies.push_back(placement.strategy);
  return strategies;
}

}  // namespace

TEST_CASE("tables go to the planner of the first pattern that fits them, in the file's order") {
  using enum Strategy;
  const Plan plan =
      plan_by(with("{\"history?a\": flex, \"ad*\": data_parallel, \"*\": row_wise}"), mixed(), test_cluster(2, 2), 7);
  CHECK(strategies_of(plan) == std::vector<Strategy>{row_wise, flex, data_parallel, row_wise});
  CHECK(plan.hash_seed == 7);
  const Plan other = plan_by(with("{\"*_*\": {name: row_wise}, \"*\": data_parallel}"), mixed(), test_cluster(2, 2));
  // The pattern of two words fits ad-id, too: hyphens of keys are underscores.
  CHECK(strategies_of(other) == std::vector<Strategy>{data_parallel, row_wise, row_wise, row_wise});
}

TEST_CASE("one pattern for all tables is the planner's own plan") {
  const Cluster cluster = test_cluster(2, 4);
  for (const PlannerEntry& entry : planners()) {
    if (entry.name == "autoshard" || entry.name == "dreamshard" || entry.name == "per_table")
      continue;  // no sequences; not inside itself
    CAPTURE(entry.name);
    const std::string own = "{name: " + std::string(entry.name) + "}";
    std::string refused_alone, refused_here;
    Plan alone, here;
    refused_alone = error_of([&] { alone = plan_by(own, mixed(), cluster, 3); });
    refused_here = error_of([&] { here = plan_by(with("{\"*\": " + own + "}"), mixed(), cluster, 3); });
    CHECK(alone == here);
    CHECK(refused_alone.empty() == refused_here.empty());
  }
}

TEST_CASE("random patterns and planners cover every row and column once") {
  const std::vector<std::string> names = {"row_wise",        "column_wise", "table_wise",      "greedy",
                                          "memory_balanced", "torchrec",    "table_row_wise",  "grid_shard",
                                          "data_parallel",   "neuroshard",  "flexshard_3tier", "random"};
  Rng rng(11);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<Table> tables;
    std::string patterns;
    const std::uint64_t kinds = 1 + rng.below(4);
    for (std::uint64_t kind = 0; kind < kinds; ++kind) {
      const std::string& name = names[rng.below(names.size())];
      const bool sequences = name == "flexshard_3tier" || rng.below(2) == 0;
      patterns += fmt::format("{}\"k{}*\": {}", kind > 0 ? ", " : "{", kind, name);
      for (std::uint64_t i = 0; i < 1 + rng.below(4); ++i) {
        const std::string table = fmt::format("k{}_{}", kind, i);
        const std::uint64_t rows = 500 + rng.below(20'000);
        tables.insert(tables.begin() + static_cast<std::ptrdiff_t>(rng.below(tables.size() + 1)),
                      sequences ? sequence_table(table, rows, 64) : pooled(table, rows));
      }
    }
    CAPTURE(patterns);
    const Workload workload = workload_of(tables, 64);
    const Cluster cluster = test_cluster(1 + static_cast<int>(rng.below(2)), 2 + static_cast<int>(rng.below(3)));
    const Plan plan = plan_by(with(patterns + "}"), workload, cluster, 5);
    CHECK_NOTHROW(check_plan(plan, workload, cluster, {}));
    CHECK(plan == plan_by(with(patterns + "}"), workload, cluster, 5));
    for (std::size_t i = 1; i < plan.placements.size(); ++i) {
      CHECK(plan.placements[i - 1].table <= plan.placements[i].table);
    }
  }
}

TEST_CASE("a later part is planned within the memory that earlier ones leave, and says what it lacks") {
  // 70,000 rows of 128 columns replicated are 35.84 MB, six times that with the gradients and buffers of the model.
  const Workload workload = mixed();
  const std::string patterns = with("{\"ad*\": data_parallel, \"*\": greedy}");
  CHECK_NOTHROW(plan_by(patterns, workload, test_cluster(1, 4, "1 GB")));
  const std::string short_text = error_of([&] { plan_by(patterns, workload, test_cluster(1, 4, "230 MB")); });
  CHECK(has(short_text, "tables \"*\" (greedy)"));
  const std::string nothing_left = error_of([&] { plan_by(patterns, workload, test_cluster(1, 4, "100 MB")); });
  CHECK(has(nothing_left, "tables \"ad*\" (data_parallel)"));
  CHECK(has(nothing_left, "over its"));
  // The planner that looks at memory alone finds room for what the one that does not would put on a full rank.
  const Plan plan = plan_by(with("{\"user\": table_wise, \"*\": greedy}"), workload, test_cluster(1, 2, "150 MB"));
  CHECK_NOTHROW(check_memory(plan, workload, test_cluster(1, 2, "150 MB"), *paper_memory()));
}

TEST_CASE("patterns and planners that make no sense are refused with their place") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{name: per_table}", "tables"},
      {with("{}"), "empty"},
      {with("[row_wise]"), "must be a map, but is a list"},
      {with("{\"*\": [row_wise]}"), "list"},
      {with("{\"*\": rowwise}"), "row_wise"},
      {with("{\"*\": {name: row_wise, cut: paper}}"), "tables \"*\""},
      {with("{\"*\": {name: per_table, tables: {\"*\": row_wise}}}"), "inside per_table"},
      {with("{\"*\": per_table}"), "inside per_table"},
      {with("{user: {name: search, start: plan.json}, \"*\": row_wise}"), "start"},
      {with("{\"history*\": row_wise}"), "no pattern fits table \"user\" and 1 more"},
      {with("{\"*\": row_wise, user: table_wise}"), "patterns before it fit all its tables"},
      {with("{\"usre\": row_wise, \"*\": table_wise}"), "no table has such a name"},
      {with("{\"user\": flexshard_2tier, \"*\": row_wise}"), "tables \"user\" (flexshard_2tier)"},
  };
  for (const auto& each : cases) {
    const std::string yaml = each.first, expected = each.second;
    CAPTURE(yaml);
    const std::string text = error_of([&] { plan_by(yaml, mixed(), test_cluster(1, 4)); });
    CHECK(has(text, expected));
    if (!has(yaml, "flexshard")) CHECK(has(text, "options.yaml:1"));
  }
}

}  // namespace shardsim::per_table_test
