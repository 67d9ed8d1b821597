#include <doctest/doctest.h>

#include <map>

#include "plan/check.h"
#include "tests/plan/column_shards/hand_costs.h"
#include "tests/plan/hand_context.h"

namespace shardsim::neuroshard_test {
namespace {

struct Asked {
  explicit Asked(std::vector<Table> tables, const std::string& hbm = "40 GB")
      : cluster(test_cluster(2, 2, hbm)), workload(workload_of(std::move(tables), 64)) {
    add_hand_costs(context, workload, cluster);
    context.figure = [this](const std::string& name, double value) { figures[name] = value; };
    context.constraints = &constraints;
  }
  Plan plan(const std::string& yaml) { return make_planner(options(yaml))->plan(workload, cluster, context); }

  Cluster cluster;
  Workload workload;
  std::unique_ptr<MemoryModel> memory = weights_memory();
  Constraints constraints;
  std::map<std::string, double> figures;
  HandContext context{*memory, 1};
};

std::vector<Table> some_tables() {
  std::vector<Table> tables;
  for (int i = 0; i < 12; ++i) {
    tables.push_back(pooled_table("t" + std::to_string(i), 1000U * static_cast<unsigned>(1 + i), 8 << (i % 5), 1 + i));
  }
  return tables;
}

}  // namespace

TEST_CASE("neuroshard places every column once, column-wise, and states its cost") {
  Asked asked(some_tables());
  const Plan plan = asked.plan("{name: neuroshard}");
  CHECK_NOTHROW(check_plan(plan, asked.workload, asked.cluster, {}));
  for (const Placement& placement : plan.placements) CHECK(placement.strategy == Strategy::column_wise);
  CHECK(asked.figures.at("cost_ms") > 0);
  CHECK(asked.figures.at("cache_hit_rate") > 0.5);
  CHECK(asked.figures.at("passes") == 11 * asked.figures.at("searches"));
}

TEST_CASE("neuroshard's cache changes neither plan nor cost") {
  Asked cached(some_tables()), plain(some_tables());
  CHECK(cached.plan("{name: neuroshard}") == plain.plan("{name: neuroshard, cache: false}"));
  CHECK(cached.figures.at("cost_ms") == plain.figures.at("cost_ms"));
  CHECK(cached.figures.at("predictions") < plain.figures.at("predictions") / 5);
  CHECK(plain.figures.at("cache_hits") == 0);
}

TEST_CASE("more of the search is never worse") {
  Asked asked(some_tables());
  asked.plan("{name: neuroshard, rounds: 0}");
  const double without = asked.figures.at("cost_ms");
  CHECK(asked.figures.at("searches") == 1);
  asked.plan("{name: neuroshard}");
  CHECK(asked.figures.at("cost_ms") <= without);
}

// 40,000,000 x 128 columns are 20.5 GB: a quarter of them is less than half of 16 GB.
TEST_CASE("neuroshard halves tables that are large for a rank before its search, but not as published") {
  Asked asked({pooled_table("huge", 40'000'000, 128), pooled_table("small", 10, 16)}, "16 GB");
  const Plan plan = asked.plan("{name: neuroshard, rounds: 0}");
  CHECK(plan.placements.size() == 5);
  const std::string text = error_of([&] { asked.plan("{name: neuroshard, rounds: 0, as_published: true}"); });
  CHECK(has(text, "huge"));
  CHECK(has(text, "as_published"));
}

TEST_CASE("what does not fit says how much is missing") {
  Asked asked({pooled_table("a", 4'000'000, 128), pooled_table("b", 4'000'000, 128)}, "1 GB");  // 4.1 GB on 4 ranks
  const std::string text = error_of([&] { asked.plan("{name: neuroshard}"); });
  CHECK(has(text, "a ("));
  CHECK(has(text, "91.6 MiB too many"));  // 96 MB
  CHECK(has(text, "22.9 MiB more memory per GPU"));
}

TEST_CASE("neuroshard keeps constraints") {
  Asked asked({pooled_table("a", 4000, 128, 50), pooled_table("b", 10, 128), pooled_table("c", 10, 128)});
  asked.constraints.by_table["a"].min_partition = 64;
  asked.constraints.by_table["b"].sharding_types = {Strategy::table_wise};
  asked.constraints.by_table["*"].compute_kernels = {"fused_uvm"};
  const Plan plan = asked.plan("{name: neuroshard}");
  for (const Placement& placement : plan.placements) {
    if (placement.table == 0) CHECK(placement.columns() >= 64);
    if (placement.table == 1) CHECK(placement.strategy == Strategy::table_wise);
    CHECK(placement.compute_kernel == (placement.table == 2 ? "fused_uvm" : "fused"));
  }
  asked.constraints.by_table["c"].sharding_types = {Strategy::row_wise};
  CHECK(has(error_of([&] { asked.plan("{name: neuroshard}"); }), "'c'"));
}

TEST_CASE("neuroshard refuses options that nobody has") {
  CHECK(has(error_of([] { make_planner(options("{name: neuroshard, beam: 0}")); }), "beam"));
  CHECK(has(error_of([] { make_planner(options("{name: neuroshard, rounds: 2000}")); }), "rounds"));
  CHECK(has(error_of([] { make_planner(options("{name: neuroshard, costs: guessed}")); }), "closed_form"));
  CHECK(has(error_of([] { make_planner(options("{name: neuroshard, costs: {file: nowhere.h5}}")); }), "nowhere.h5"));
}

}  // namespace shardsim::neuroshard_test
