#include <doctest/doctest.h>

#include "sim/engine/op_work.h"
#include "tests/models/test_clusters.h"

namespace shardsim::like_sets_test {

using namespace shardsim::test;

namespace {

void check_equal(const CollectiveLoads& one, const CollectiveLoads& other) {
  CHECK(one.start == other.start);
  CHECK(one.algorithm == other.algorithm);
  REQUIRE(one.loads.size() == other.loads.size());
  for (std::size_t i = 0; i < one.loads.size(); ++i) {
    CHECK(one.loads[i].link == other.loads[i].link);
    CHECK(one.loads[i].bytes == other.loads[i].bytes);
    CHECK(one.loads[i].occupancy == other.loads[i].occupancy);
    CHECK(one.loads[i].cap.bytes_per_second == other.loads[i].cap.bytes_per_second);
  }
}

}  // namespace

// Whole nodes, other GPUs, an order of their own, other bytes, a slow node, two nodes at once, and a whole node again.
TEST_CASE("sets expanded one after the other are to the last bit what each is by itself") {
  const Cluster cluster =
      cluster_from(two_tier(6, "faults: [{node: 3, gpu: 1, rate_factor: 0.5}, {node: 4, nic: 2, rate_factor: 0.5}]\n"));
  const std::vector<std::vector<int>> sets = {{0, 1, 2},    {8, 9, 10},   {17, 18, 19}, {26, 25, 24},
                                              {34, 33, 32}, {42, 41, 40}, {0, 8, 16},   {8, 16, 24},
                                              {0, 1, 2},    {24, 25, 26}, {40, 41, 42}};
  ByteMatrix matrix;
  matrix.kind = ByteMatrix::Kind::by_destination;
  matrix.units = {1000, 20, 300};
  for (const CollectiveKind kind : {CollectiveKind::all_to_all, CollectiveKind::all_reduce}) {
    LikeSets like(cluster, "auto");
    for (std::size_t set = 0; set < sets.size(); ++set) {
      CAPTURE(set);
      const bool exchange = kind == CollectiveKind::all_to_all;
      const std::int64_t bytes = exchange ? 0 : set == 9 ? 5'000'000 : 1'000'000;
      const CollectiveCall call{kind, sets[set], exchange ? &matrix : nullptr, bytes};
      check_equal(like.expand(call), expand_collective(call, cluster, "auto"));
    }
  }
}

TEST_CASE("a set outside the cluster is refused after one inside it") {
  const Cluster cluster = cluster_from(two_tier(2));
  LikeSets like(cluster, "auto");
  like.expand({CollectiveKind::all_reduce, {8, 9}, nullptr, 1000});
  CHECK_THROWS(like.expand({CollectiveKind::all_reduce, {16, 17}, nullptr, 1000}));
  CHECK_THROWS(like.expand({CollectiveKind::all_reduce, {0, 0}, nullptr, 1000}));
}

}  // namespace shardsim::like_sets_test
