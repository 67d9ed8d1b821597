#include <doctest/doctest.h>

#include "tests/topology/cluster_files.h"
#include "topology/spec/rank_set.h"

namespace shardsim::cluster_part_test {

using namespace shardsim::testing;

namespace {

Cluster tree_of_six() {
  return cluster_of(least_cluster(4) +
                    "nodes: 6\nnvlink: {kind: switch, links_per_gpu: 12}\nnics: {per_gpu: 1, rate: 200 Gbit/s}\n"
                    "fabric: {kind: fat_tree, nodes_per_leaf: 2, oversubscription: 4}\n"
                    "faults: [{node: 4, nic: 1, rate_factor: 0.5}, {node: 4, gpu: 2, compute_factor: 0.25}]\n");
}

}  // namespace

TEST_CASE("a part of a cluster has its nodes' links under their names, and whole leaves") {
  const Cluster whole = tree_of_six();
  const Cluster part = Cluster(whole.spec(), {4, 1});
  CHECK(part.nodes() == 2);
  CHECK(part.world_size() == 8);
  CHECK(part.leaf_of(0) == 2);
  CHECK(part.leaf_of(1) == 0);
  for (std::size_t id = 0; id < part.links().size(); ++id) {
    const Link& link = part.links()[id];
    const Link& same = whole.links()[part.in_whole(static_cast<LinkId>(id))];
    CHECK(part.link_name(static_cast<LinkId>(id)) == whole.link_name(part.in_whole(static_cast<LinkId>(id))));
    CHECK(link.rate == same.rate);
    CHECK(link.leaf == same.leaf);
    if (same.node >= 0) CHECK(link.node == (same.node == 4 ? 0 : 1));
  }
  CHECK(gbps(part.links()[part.nic_out(0, 1)].rate) == doctest::Approx(12.5));
  CHECK(gbps(part.links()[part.nic_out(1, 1)].rate) == doctest::Approx(25));
  CHECK(part.compute_factor(2) == 0.25);
  CHECK(part.compute_factor(6) == 1);
}

TEST_CASE("routes in a part are those of the whole cluster") {
  const Cluster whole = tree_of_six();
  const std::vector<int> nodes = {5, 0, 4};
  const Cluster part = Cluster(whole.spec(), nodes);
  for (int from = 0; from < part.world_size(); ++from) {
    for (int to = 0; to < part.world_size(); ++to) {
      if (from == to) continue;
      Route expected = whole.route(nodes[from / 4] * 4 + from % 4, nodes[to / 4] * 4 + to % 4);
      Route route = part.route(from, to);
      for (LinkId& id : route.links) id = part.in_whole(id);
      CHECK(route.links == expected.links);
      CHECK(route.latency == expected.latency);
      CHECK(route.width == expected.width);
    }
  }
}

TEST_CASE("a part counts its links in the whole cluster, and has those of its own leaves alone") {
  const Cluster whole = tree_of_six();
  const Cluster part(whole.spec(), {5, 4});
  CHECK(part.link_name(part.nic_out(0, 0)) == "node5/nic0/out");
  CHECK(part.in_whole(part.nic_out(0, 0)) == whole.nic_out(5, 0));
  CHECK(part.in_whole(part.leaf_down(2)) == whole.leaf_down(2));
  CHECK(3 * part.links().size() == whole.links().size());
  CHECK(part.leaves() == 3);
  CHECK(whole.in_whole(7) == 7);
}

TEST_CASE("a part of a cluster with many nodes is made of no more than its own") {
  ClusterSpec spec = tree_of_six().spec();
  spec.nodes = 25'000;
  for (int node = 0; node < 100; ++node) {
    const Cluster part(spec, {250 * node});
    CHECK(part.links().size() == Cluster(spec, {0}).links().size());
  }
}

TEST_CASE("sets of nodes are written as sets of ranks are") {
  CHECK(read_node_set(text_tree("1-5:2"), 6) == std::vector<int>{1, 3, 5});
  CHECK(error_of([] { read_node_set(text_tree("2-6"), 6); }).find("node 6 is outside the cluster of 6 nodes") !=
        std::string::npos);
  CHECK(error_of([] { read_node_set(text_tree("a"), 6); }) != "");
  CHECK(error_of([] { read_node_set(Tree{}, 6); }).find("a node set is missing or empty") != std::string::npos);
}

}  // namespace shardsim::cluster_part_test
