#include <doctest/doctest.h>

#include "plan/planner.h"
#include "tests/plan/test_setting.h"

namespace shardsim::memory_balanced_test {
namespace {

std::vector<int> owners(const Plan& plan, int table) {
  std::vector<int> ranks;
  for (const Placement& placement : plan.placements) {
    if (placement.table == table) ranks.push_back(placement.holders[0][0]);
  }
  return ranks;
}

}  // namespace

// Worked by hand with the rules of distributed-embeddings, dist_model_parallel.py: sorted by (elements, table), largest
// first, rank i of 2 takes positions i, i + 4 ... and 3 - i, 7 - i ...
TEST_CASE("memory_balanced deals by size there and back, the last of equal tables first") {
  const Cluster cluster = test_cluster(1, 2);
  const Workload workload = workload_of({sequence_table("a", 100), sequence_table("b", 100), sequence_table("c", 100),
                                         sequence_table("d", 700), sequence_table("e", 50)});
  const Plan plan = plan_by("{name: memory_balanced}", workload, cluster);
  REQUIRE(plan.placements.size() == 5);  // d 0, c 1, b 1, a 0, e 0
  CHECK(owners(plan, 0) == std::vector<int>{0});
  CHECK(owners(plan, 1) == std::vector<int>{1});
  CHECK(owners(plan, 2) == std::vector<int>{1});
  CHECK(owners(plan, 3) == std::vector<int>{0});
  CHECK(owners(plan, 4) == std::vector<int>{0});
  for (const Placement& placement : plan.placements) CHECK(placement.strategy == Strategy::column_wise);
}

TEST_CASE("memory_balanced cuts a table above the threshold into a power of two of slices, at most one per rank") {
  const Cluster cluster = test_cluster(1, 4);
  const Workload workload = workload_of({sequence_table("small", 10, 64), sequence_table("two", 100, 65),
                                         sequence_table("many", 10000, 64), sequence_table("narrow", 100000, 2)});
  // two: 6,500 elements, above 6,400: 33 + 32 columns. many: 640,000 would be 128 slices. narrow: 200,000, two columns.
  const Plan plan = plan_by("{name: memory_balanced, column_slice_threshold: 6400}", workload, cluster);
  REQUIRE(plan.placements.size() == 1 + 2 + 4 + 2);
  CHECK(plan.placements[1].columns() == 33);
  CHECK(plan.placements[2].columns() == 32);
  for (std::size_t i = 3; i < 7; ++i) CHECK(plan.placements[i].columns() == 16);
  // many 0 1 2 3 would need 160,000 elements each; narrow, 100,000 each, goes back 3 2, two 1 0, small 0.
  CHECK(owners(plan, 2) == std::vector<int>{0, 1, 2, 3});
  CHECK(owners(plan, 3) == std::vector<int>{2, 3});
  CHECK(owners(plan, 1) == std::vector<int>{0, 1});
  CHECK(owners(plan, 0) == std::vector<int>{0});
}

// NVIDIA's README runs model large on 32 GPUs with a threshold of 1280 Mi elements: its two tables of 200 million rows
// and 128 columns are cut 32 times, those of 960 million elements are not.
TEST_CASE("memory_balanced with the published threshold on the sizes of NVIDIA's model large") {
  const Cluster cluster = test_cluster(4, 8);
  const Workload workload =
      workload_of({sequence_table("hot", 200'000'000, 128), sequence_table("more", 15'000'000, 64)});
  const Plan plan = plan_by("{name: memory_balanced, column_slice_threshold: 1342177280}", workload, cluster);
  CHECK(owners(plan, 0).size() == 32);
  CHECK(owners(plan, 1).size() == 1);
}

}  // namespace shardsim::memory_balanced_test
