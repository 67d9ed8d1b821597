#include "sim/engine/node_classes.h"

#include <doctest/doctest.h>

#include "tests/models/test_clusters.h"

namespace shardsim::node_classes_test {

using namespace shardsim::test;

namespace {

OpWork groups(const std::vector<std::vector<int>>& sets) {
  OpWork work;
  for (const std::vector<int>& ranks : sets) work.calls.push_back({ranks, {}, {}});
  return work;
}

std::vector<int> representatives(const std::vector<OpWork>& works, int nodes, const std::string& extra = "") {
  return classify_nodes(works, cluster_from(two_tier(nodes, extra))).representative;
}

}  // namespace

TEST_CASE("one node stands for all that cannot be told apart, however many collectives a group has") {
  const OpWork world = groups({ranks_from(0, 32)});
  CHECK(representatives({world, world, world}, 4) == std::vector<int>{0, 0, 0, 0});
  CHECK(representatives({world}, 4, "faults: [{node: 2, nic: 0, rate_factor: 0.5}]\n") == std::vector<int>{0, 0, 2, 0});
}

TEST_CASE("nodes that meet a slow one are told apart from those that do not") {
  const OpWork pairs = groups({{0, 8}, {16, 24}});
  CHECK(representatives({pairs}, 4, "faults: [{node: 3, nic: 0, rate_factor: 0.5}]\n") == std::vector<int>{0, 0, 2, 3});
}

// Two sets that cross: the stand-in of a member is in the other one.
TEST_CASE("where a set lacks the stand-in of a member every node is simulated") {
  CHECK(representatives({groups({{0, 9}, {1, 8}})}, 2) == std::vector<int>{0, 1});
}

}  // namespace shardsim::node_classes_test
