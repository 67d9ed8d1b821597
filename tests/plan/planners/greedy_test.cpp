#include <doctest/doctest.h>

#include "tests/plan/column_shards/hand_costs.h"
#include "tests/plan/hand_context.h"

namespace shardsim::greedy_test {
namespace {

std::vector<int> ranks_of(const Plan& plan) {
  std::vector<int> ranks;
  for (const Placement& placement : plan.placements) ranks.push_back(placement.holders[0][0]);
  return ranks;
}

std::vector<int> greedy_ranks(const std::string& score, const std::vector<Table>& tables,
                              const std::string& hbm = "40 GB") {
  const auto memory = weights_memory();
  const Plan plan = make_planner(options("{name: greedy, score: " + score + "}"))
                        ->plan(workload_of(tables), test_cluster(1, 2, hbm), {*memory, 1, {}});
  return ranks_of(plan);
}

}  // namespace

// By hand, after sharders.py of daochenzha/neuroshard at ec7ca74: sorted by (score, size, index), taken from the end.
TEST_CASE("greedy by each score: the last of (score, size, index) first, to the least sum of scores") {
  //                                      size (elements)  dim  lookups
  const std::vector<Table> tables{pooled_table("a", 1000, 8, 1),    //  8,000   8    8
                                  pooled_table("b", 100, 32, 10),   //  3,200  32  320
                                  pooled_table("c", 500, 16, 20),   //  8,000  16  320
                                  pooled_table("d", 2000, 4, 30)};  //  8,000   4  120
  // d 0, c 1 (both 8,000: the later first), a: sums equal, bytes equal, so 0; b 1.
  CHECK(greedy_ranks("size", tables) == std::vector<int>{0, 1, 1, 0});
  // b 0 (32), c 1 (16), a 1 (24), d 1 (28).
  CHECK(greedy_ranks("dim", tables) == std::vector<int>{1, 0, 1, 1});
  // c 0 (320, larger than b), b 1 (320), d: sums equal, b's rank has fewer bytes, 1; a 0.
  CHECK(greedy_ranks("lookup", tables) == std::vector<int>{0, 1, 0, 1});
  // c 320 x 2.70 = 864, b 320 x 2 = 640, d 120 x 3.30 = 396, a 24: c 0, b 1, d 1 (1,036), a 0.
  CHECK(greedy_ranks("size_lookup", tables) == std::vector<int>{0, 1, 0, 1});
  // c 2,560,000, b 1,024,000, d 960,000, a 64,000: c 0, b 1, d 1 (1,984,000), a 1 (2,048,000).
  CHECK(greedy_ranks("size_lookup_paper", tables) == std::vector<int>{1, 1, 0, 1});
}

TEST_CASE("greedy leaves out ranks where a table does not fit, and says what is missing where none is left") {
  const std::vector<Table> tables{pooled_table("a", 600'000, 4, 9), pooled_table("b", 500'000, 4, 5),
                                  pooled_table("c", 300'000, 4, 3), pooled_table("d", 250'000, 4, 1)};
  // a 9.6 MB on 0, b 8 MB on 1; c 4.8 MB by lookups to 1, by memory (12 MB) neither: 14.4 and 12.8.
  CHECK(greedy_ranks("lookup", tables, "16 MB") == std::vector<int>{0, 1, 1, 0});
  const std::string text = error_of([&] { greedy_ranks("lookup", tables, "12 MB"); });
  CHECK(has(text, "'c'"));
  CHECK(has(text, "781 KiB"));  // 4.8 + 8 - 12 MB
}

TEST_CASE("greedy by cost gives a table to the rank that is quickest with it") {
  const auto memory = weights_memory();
  const Cluster cluster = test_cluster(1, 2);
  const Workload workload = workload_of({pooled_table("a", 100, 64, 5), pooled_table("b", 100, 64, 4),
                                         pooled_table("c", 100, 64, 3), pooled_table("d", 100, 64, 3)});
  const Plan plan = plan_by("{name: greedy, score: cost}", workload, cluster);
  CHECK(ranks_of(plan) == std::vector<int>{0, 1, 0, 1});  // a 0, b 1, d 1 (7), c 0 (8)
  for (const Placement& placement : plan.placements) CHECK(placement.strategy == Strategy::table_wise);
}

TEST_CASE("greedy refuses costs beside another score, and constraints that it cannot keep, by name") {
  CHECK(has(error_of([] { make_planner(options("{name: greedy, score: dim, costs: closed_form}")); }), "score"));
  const auto memory = weights_memory();
  HandContext context{*memory, 1};
  Constraints constraints;
  constraints.by_table["a"].sharding_types = {Strategy::row_wise};
  context.constraints = &constraints;
  const auto planner = make_planner(options("{name: greedy, score: dim}"));
  const Workload workload = workload_of({pooled_table("a", 10, 8), pooled_table("b", 10, 8)});
  CHECK(has(error_of([&] { planner->plan(workload, test_cluster(1, 2), context); }), "'a'"));
  constraints.by_table["a"].sharding_types = {Strategy::row_wise, Strategy::column_wise};
  const Plan plan = planner->plan(workload, test_cluster(1, 2), context);
  CHECK(plan.placements[0].strategy == Strategy::column_wise);
  CHECK(plan.placements[1].strategy == Strategy::table_wise);
}

}  // namespace shardsim::greedy_test
