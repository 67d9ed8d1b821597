#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "tests/models/test_clusters.h"

namespace shardsim::tree_test {

using namespace shardsim::test;

namespace {

constexpr double kBytes = 1e6;

CollectiveLoads tree(const Cluster& cluster) {
  return reduction(cluster, ranks_from(0, cluster.world_size()), 1'000'000, "tree");
}

}  // namespace

// Worked by hand from NVIDIA/nccl src/graph/trees.cc: over 4 nodes the first tree is 0 - 2 - {1, 3}, the second its
// mirror image 3 - 1 - {2, 0}; each carries half the buffer up and down.
TEST_CASE("four nodes carry the loads of both trees") {
  const Cluster cluster = cluster_from(one_gpu_nodes(4));
  const auto loads = tree(cluster);
  const std::array<double, 4> halves{2, 4, 4, 2};
  for (int node = 0; node < 4; ++node) {
    CHECK(bytes_on(loads, cluster.nic_out(node, 0)) == doctest::Approx(halves[node] / 2 * kBytes));
    CHECK(bytes_on(loads, cluster.nic_in(node, 0)) == doctest::Approx(halves[node] / 2 * kBytes));
  }
}

// On two nodes a tree moves each byte over a NIC once per direction (NVIDIA/nccl-tests issues 196 and 290).
TEST_CASE("two nodes move each byte once in each direction") {
  const Cluster cluster = cluster_from(two_tier(2));
  const auto loads = tree(cluster);
  for (int node = 0; node < 2; ++node)
    for (int nic = 0; nic < 8; ++nic) CHECK(bytes_on(loads, cluster.nic_out(node, nic)) == doctest::Approx(kBytes / 8));
}

// N - 1 edges in each of two trees, half the bytes up and half down on each; a node is inner in one tree at most, and
// then has three neighbours there and one in the other.
TEST_CASE("both trees span any number of nodes and no NIC carries more than twice the buffer") {
  for (int nodes = 2; nodes <= 17; ++nodes) {
    const Cluster cluster = cluster_from(one_gpu_nodes(nodes));
    const auto loads = tree(cluster);
    CHECK(bytes_over(loads, LinkKind::nic_out, cluster) == doctest::Approx(2.0 * (nodes - 1) * kBytes));
    CHECK(bytes_over(loads, LinkKind::nic_in, cluster) == doctest::Approx(2.0 * (nodes - 1) * kBytes));
    for (int node = 0; node < nodes; ++node) {
      CHECK(bytes_on(loads, cluster.nic_out(node, 0)) >= doctest::Approx(kBytes / 2));
      CHECK(bytes_on(loads, cluster.nic_out(node, 0)) <= doctest::Approx(2 * kBytes));
    }
  }
}

TEST_CASE("a chain inside a node carries the buffer up and down every hop") {
  const Cluster cluster = cluster_from(toy_2x4());
  const auto loads = reduction(cluster, ranks_from(0, 4), 1'000'000, "tree");
  CHECK(bytes_on(loads, cluster.local_route(0, 1).links.front()) == doctest::Approx(kBytes));
  CHECK(bytes_on(loads, cluster.local_route(1, 2).links.front()) == doctest::Approx(2 * kBytes));
  CHECK(bytes_over(loads, LinkKind::nvlink_out, cluster) == doctest::Approx(6 * kBytes));
}

// 2 x (chain of 3 hops at 1 us + log2 N levels at 2 us).
TEST_CASE("latency is two passes over chain and levels") {
  const Cluster cluster = cluster_from(toy_2x4());
  CHECK(reduction(cluster, ranks_from(0, 8), 0, "tree").start.us() == doctest::Approx(2 * (3 * 1.0 + 1 * 2.0)));
  const Cluster five = cluster_from(one_gpu_nodes(5));
  CHECK(tree(five).start.us() == doctest::Approx(2 * 3 * 2.5));
}

}  // namespace shardsim::tree_test
