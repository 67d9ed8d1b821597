#include <doctest/doctest.h>

#include "models/collective/collective.h"
#include "tests/models/test_clusters.h"

namespace shardsim::side_by_side_test {

using namespace shardsim::test;

namespace {

// One load on link 0, which moves 100 GB/s.
CollectiveLoads one_load(double start_ms, double megabytes, double cap = 0) {
  return {{start_ms * 1e-3}, {{0, megabytes * 1e6, megabytes * 1e6, {cap * 1e9}}}, false, "", ""};
}

double together_ms(const std::vector<CollectiveLoads>& calls) {
  const Cluster cluster = cluster_from(toy_2x4());
  std::vector<const CollectiveLoads*> pointers;
  for (const CollectiveLoads& call : calls) pointers.push_back(&call);
  return side_by_side(pointers, cluster).time.ms();
}

}  // namespace

TEST_CASE("equal loads share a link, and end together") {
  CHECK(together_ms({one_load(1, 100)}) == doctest::Approx(2));
  CHECK(together_ms({one_load(1, 100), one_load(1, 100)}) == doctest::Approx(3));
}

TEST_CASE("a cap leaves its rest to the others, and binds when they are gone") {
  // 40 and 60 GB/s; at 1 ms the first is done with its 40 MB, the second goes on at its cap.
  CHECK(together_ms({one_load(0, 40, 40), one_load(0, 120, 60)}) == doctest::Approx(2));
  // 50 and 50 until 0.2 ms, then the second alone at 60.
  CHECK(together_ms({one_load(0, 10), one_load(0, 100, 60)}) == doctest::Approx(0.2 + 90. / 60));
}

TEST_CASE("a load that starts later finds what the first has left") {
  CHECK(together_ms({one_load(0, 100), one_load(0.5, 100)}) == doctest::Approx(2));
  CHECK(together_ms({one_load(0, 100), one_load(3, 100)}) == doctest::Approx(4));
  CHECK(together_ms({one_load(0, 300), one_load(1, 50)}) == doctest::Approx(3.5));
}

TEST_CASE("the link that ends last is the bottleneck; of equals the busiest") {
  const Cluster cluster = cluster_from(toy_2x4());
  const CollectiveLoads calls{{}, {{0, 1e6, 1e6, {1e9}}, {1, 2e6, 2e6, {2e9}}}, false, "", ""};
  CHECK(side_by_side({&calls}, cluster).bottleneck == 1);
  CHECK(side_by_side({}, cluster).bottleneck == -1);
}

TEST_CASE("calls that share no link take as long in whatever order they are named") {
  const Cluster cluster = cluster_from(toy_2x4());
  const CollectiveLoads first{{1e-3}, {{0, 1e8, 1e8, {}}, {1, 2e8, 2e8, {5e10}}}, false, "", ""};
  const CollectiveLoads second{{2e-3}, {{2, 1e8, 1e8, {}}}, false, "", ""};
  for (const std::vector<const CollectiveLoads*>& calls :
       {std::vector{&first, &second}, std::vector{&second, &first}}) {
    const SideBySide together = side_by_side(calls, cluster);
    CHECK(together.time.ms() == doctest::Approx(5));  // at the cap of half the link's 100 GB/s
    CHECK(together.bottleneck == 1);
  }
}

}  // namespace shardsim::side_by_side_test
