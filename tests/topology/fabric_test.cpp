#include <doctest/doctest.h>

#include "tests/topology/cluster_files.h"

namespace shardsim::fabric_test {

using namespace shardsim::testing;

namespace {

std::string fabric(const std::string& keys) {
  return least_cluster(4) +
         "nodes: 5\nnvlink: {kind: switch, links_per_gpu: 12}\nnics: {per_gpu: 1, rate: 200 Gbit/s, latency: 2 us}\n"
         "fabric: {" +
         keys + "}\n";
}

}  // namespace

// Up-link capacity of a leaf = sum of the NIC rates below / oversubscription (docs/formats/cluster.md, `fabric`).
TEST_CASE("an oversubscribed fat tree limits what leaves a leaf") {
  const Cluster cluster = cluster_of(fabric("kind: fat_tree, nodes_per_leaf: 2, oversubscription: 4, latency: 0.5 us"));
  CHECK(cluster.leaves() == 3);
  CHECK(cluster.leaf_of(3) == 1);
  CHECK(gbps(cluster.links()[cluster.leaf_up(0)].rate) == doctest::Approx(2 * 4 * 25 / 4.0));
  CHECK(gbps(cluster.links()[cluster.leaf_down(2)].rate) == doctest::Approx(1 * 4 * 25 / 4.0));
  CHECK(cluster.link_name(cluster.leaf_up(1)) == "leaf1/up");
  CHECK(cluster.links()[cluster.leaf_up(1)].local == cluster.links()[cluster.leaf_up(2)].local);

  const Route below = cluster.route(0, 4);
  CHECK(below.links.size() == 2);
  CHECK(below.latency == Seconds{2e-6});
  const Route across = cluster.route(0, 8);
  REQUIRE(across.links.size() == 4);
  CHECK(across.links[1] == cluster.leaf_up(0));
  CHECK(across.links[2] == cluster.leaf_down(1));
  CHECK(across.latency.value == doctest::Approx(2.5e-6));
  CHECK(cluster.links_of(8).back() == cluster.leaf_down(1));
}

TEST_CASE("an oversubscribed rail-optimised fabric keeps a block of nodes below the spine") {
  const Cluster cluster = cluster_of(fabric("kind: rail_optimised, nodes_per_leaf: 4, oversubscription: 2"));
  CHECK(cluster.leaves() == 2);
  CHECK(cluster.route(1, 13).links.size() == 2);
  CHECK(cluster.route(1, 17).links.size() == 4);
  CHECK(gbps(cluster.links()[cluster.leaf_up(0)].rate) == doctest::Approx(200));
}

TEST_CASE("a fabric that never limits has no links") {
  for (const char* keys : {"kind: non_blocking", "kind: fat_tree, nodes_per_leaf: 2", "kind: rail_optimised",
                           "kind: fat_tree, nodes_per_leaf: 8, oversubscription: 2"}) {
    CAPTURE(keys);
    const Cluster cluster = cluster_of(fabric(keys));
    CHECK(cluster.leaf_up(0) == -1);
    CHECK(cluster.leaf_down(0) == -1);
    CHECK(cluster.route(0, 16).links.size() == 2);
  }
}

TEST_CASE("crossing the spine of a full fat tree costs its latency alone") {
  const Cluster cluster = cluster_of(fabric("kind: fat_tree, nodes_per_leaf: 2, latency: 1 us"));
  CHECK(cluster.route(0, 8).latency.value == doctest::Approx(3e-6));
  CHECK(cluster.route(0, 4).latency.value == doctest::Approx(2e-6));
}

}  // namespace shardsim::fabric_test
