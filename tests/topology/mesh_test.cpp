#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "tests/topology/cluster_files.h"

namespace shardsim::mesh_test {

using namespace shardsim::testing;

namespace {

// The links of a published `nvidia-smi topo` matrix of an 8 x V100 server: the graph of dgx1_v100, renumbered.
const std::string kPublishedMatrix =
    "[0, 1, 1], [0, 2, 1], [0, 3, 2], [0, 6, 2], [1, 2, 2], [1, 3, 1], [1, 7, 2], [2, 3, 2], [2, 4, 1], [3, 5, 1], "
    "[4, 5, 2], [4, 6, 1], [4, 7, 2], [5, 6, 2], [5, 7, 1], [6, 7, 1]";

ClusterSpec published_matrix() {
  return spec_of(least_cluster(8, "7.0") + "nvlink: {kind: mesh, links_per_gpu: 6, links: [" + kPublishedMatrix + "]}");
}

// Most chunks of an all-to-all on one link, per unit of its weight (`unit`: rate of weight 1): every GPU sends one
// chunk to each other.
double chunks_per_weight(ClusterSpec spec, RelayRule rule, double unit) {
  spec.nvlink.relay = rule;
  spec.nodes = 1;
  const Cluster cluster(spec);
  std::vector<double> chunks(cluster.links().size(), 0);
  for (int from = 0; from < 8; ++from) {
    for (int to = 0; to < 8; ++to) {
      const Route route = cluster.route(from, to);
      for (const LinkId id : route.links) chunks[id] += route.share;
      for (const Route& other : route.also) {
        for (const LinkId id : other.links) chunks[id] += other.share;
      }
    }
  }
  double most = 0;
  for (const Link& link : cluster.links()) {
    if (link.kind != LinkKind::nvlink_mesh) continue;
    most = std::max(most, chunks[&link - cluster.links().data()] / (gbps(link.rate) / unit));
  }
  return most;
}

}  // namespace

// Widest and index relays: counted by hand on the wiring of the DGX-1V class. Balanced: 16 chunks must cross from GPUs
// 0-3 (0, 1, 2, 3 there too in the published numbering) to the others over links of weight 6 in all, so no split does
// better than 16/6, and one that reaches it exists.
TEST_CASE("an all-to-all loads the cube mesh as counted by hand, by each relay rule") {
  const auto check = [](const ClusterSpec& spec, double unit) {
    CHECK(chunks_per_weight(spec, RelayRule::widest, unit) == doctest::Approx(3));
    CHECK(chunks_per_weight(spec, RelayRule::lowest_index, unit) == doctest::Approx(4));
    CHECK(chunks_per_weight(spec, RelayRule::highest_index, unit) == doctest::Approx(4));
    CHECK(chunks_per_weight(spec, RelayRule::balanced, unit) == doctest::Approx(16.0 / 6));
  };
  SUBCASE("A100, two NVLinks per weight") {
    check(shipped("a100_mesh_4x8"), 40);
  }
  SUBCASE("V100, one NVLink per weight") {
    check(shipped("dgx1_v100"), 20);
  }
  SUBCASE("V100 in the numbering of the published matrix") {
    check(published_matrix(), 20);
  }
}

TEST_CASE("each GPU of the cube mesh has weight 6, 4 linked and 3 relayed peers, two relays to each") {
  const auto check = [](const ClusterSpec& spec, int links_per_weight) {
    std::map<int, int> weight;
    for (const auto& pair : spec.nvlink.pairs) {
      weight[pair.a] += pair.links;
      weight[pair.b] += pair.links;
    }
    ClusterSpec one_node = spec;
    one_node.nodes = 1;
    const Cluster cluster(one_node);
    CHECK(cluster.has_relays());
    for (int gpu = 0; gpu < 8; ++gpu) {
      CHECK(weight[gpu] == 6 * links_per_weight);
      int linked = 0, relayed = 0;
      for (int peer = 0; peer < 8; ++peer) {
        linked += cluster.path_class(gpu, peer) == PathClass::nvl;
        relayed += cluster.path_class(gpu, peer) == PathClass::nvb;
      }
      CHECK(linked == 4);
      CHECK(relayed == 3);
    }
    one_node.nvlink.relay = RelayRule::lowest_index;
    const Cluster lowest(one_node);
    one_node.nvlink.relay = RelayRule::highest_index;
    const Cluster highest(one_node);
    for (int from = 0; from < 8; ++from) {
      for (int to = 0; to < 8; ++to) {
        if (cluster.path_class(from, to) != PathClass::nvb) continue;
        const int low = *lowest.local_route(from, to).relay, high = *highest.local_route(from, to).relay;
        CHECK(low < high);
        const int widest = *cluster.local_route(from, to).relay;
        CHECK((widest == low || widest == high));
      }
    }
  };
  check(shipped("a100_mesh_4x8"), 2);
  check(shipped("dgx1_v100"), 1);
  check(published_matrix(), 1);
}

TEST_CASE("a relayed route crosses two links, at the rate of the narrower one and one latency") {
  const Cluster cluster(shipped("a100_mesh_4x8"));
  const Route route = cluster.route(8 + 0, 8 + 5);
  CHECK(route.path == PathClass::nvb);
  REQUIRE(route.links.size() == 2);
  REQUIRE(route.relay);
  CHECK(cluster.link_name(route.links[0]) == "node1/nvlink/0-" + std::to_string(*route.relay));
  CHECK(cluster.link_name(route.links[1]) == "node1/nvlink/" + std::to_string(*route.relay) + "-5");
  CHECK(gbps(route.width) == doctest::Approx(40));
  CHECK(route.latency == Seconds{1e-6});
  CHECK(gbps(cluster.route(0, 3).width) == doctest::Approx(80));
  CHECK(cluster.route(0, 3).links.size() == 1);
}

TEST_CASE("a mesh that links every pair relays nothing") {
  const Cluster cluster(shipped("perlmutter_a100"));
  CHECK_FALSE(cluster.has_relays());
  CHECK(cluster.links().size() == 12 + 8);
  for (const Link& link : cluster.links()) {
    if (link.kind == LinkKind::nvlink_mesh) CHECK(gbps(link.rate) == doctest::Approx(80));
  }
}

TEST_CASE("unlinked pairs without a relay go over PCIe") {
  ClusterSpec spec = shipped("a100_mesh_4x8");
  spec.nvlink.relay = RelayRule::none;
  const Cluster cluster(spec);
  CHECK_FALSE(cluster.has_relays());
  const Route far = cluster.route(0, 5);
  CHECK(far.path == PathClass::sys);
  CHECK(gbps(far.width) == doctest::Approx(24));
  CHECK(cluster.link_name(far.links.front()) == "node0/gpu0/pcie_out");
  CHECK(cluster.link_name(far.links.back()) == "node0/gpu5/pcie_in");
  CHECK(cluster.route(0, 1).path == PathClass::nvl);
}

}  // namespace shardsim::mesh_test
