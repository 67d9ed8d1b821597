#include "study/report/wording.h"

#include <doctest/doctest.h>

#include "tests/physics/lab.h"

namespace shardsim::unit_words_test {

TEST_CASE("links are told in words, and ranks stay what they are") {
  CHECK(unit_in_words("node7/nic7/in") == "NIC 7 of node 7, receiving");
  CHECK(unit_in_words("node0/gpu3/nvlink_out") == "NVLink of GPU 3 of node 0, sending");
  CHECK(unit_in_words("node0/gpu3/pcie_in") == "PCIe of GPU 3 of node 0, receiving");
  CHECK(unit_in_words("node0/nvlink/0-3") == "NVLink from GPU 0 to GPU 3 of node 0");
  CHECK(unit_in_words("node2/pcie/switch1-cpu0") == "PCIe from switch1 to cpu0 of node 2");
  CHECK(unit_in_words("leaf0/up") == "leaf switch 0, to the spine");
  for (const char* const other : {"rank 3 compute", "", "node7", "node7/nic/in", "a/b/c"})
    CHECK(unit_in_words(other) == other);
}

TEST_CASE("a cell has fewer letters for the same link") {
  CHECK(unit_in_short("node7/nic7/in") == "node 7 NIC 7 in");
  CHECK(unit_in_short("node0/gpu3/nvlink_out") == "node 0 GPU 3 NVLink out");
  CHECK(unit_in_short("leaf0/up") == "leaf switch 0, to the spine");
  CHECK(unit_in_short("rank 3 compute") == "rank 3 compute");
  CHECK(unit_in_short("node7/nic/in") == "node7/nic/in");
}

TEST_CASE("no link of a cluster is without words") {
  for (const char* const file : {"toy_2x4.yaml", "a100_mesh_4x8.yaml"}) {
    const Cluster cluster(physics::cluster_spec(file));
    for (std::size_t id = 0; id < cluster.links().size(); ++id) {
      const std::string name = cluster.link_name(static_cast<LinkId>(id));
      CHECK(unit_in_words(name) != name);
    }
  }
}

}  // namespace shardsim::unit_words_test
