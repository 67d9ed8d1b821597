#include "topology/graph/graph.h"

#include <doctest/doctest.h>

#include "tests/topology/cluster_files.h"

namespace shardsim::graph_test {

using namespace shardsim::testing;

namespace {

double width(const NodeGraph& graph, Vertex from, Vertex to) {
  const auto [edge, exists] = boost::edge(from, to, graph);
  REQUIRE(exists);
  return gbps(graph[edge].rate);
}

}  // namespace

// One AMD CPU, one Gen4 x16 switch, two sm80 GPUs with 4 NVLinks between them, one 200 Gbit/s NIC; NVIDIA/nccl
// src/graph/topo.cc and paths.cc give GPU-GPU NVL 80, GPU-switch 24, switch-CPU 24, NIC port 25, GPU-NIC 24 PIX.
TEST_CASE("a small node has the rates and path classes that NCCL gives it") {
  const ClusterSpec spec = spec_of(least_cluster(2) + R"(
nvlink: {kind: mesh, links_per_gpu: 4, links: [[0, 1, 4]]}
nics: {per_node: 1, rate: 200 Gbit/s}
pcie:
  cpu: {vendor: amd, sockets: 1}
  tree: [{switch: s0, parent: 0, gpus: [0, 1], nics: [0]}]
)");
  const NodeGraph graph = build_node_graph(spec);
  const Vertex hub = *find_device(graph, DeviceKind::pcie_switch, 0), cpu = *find_device(graph, DeviceKind::cpu, 0);
  const Vertex nic = *find_device(graph, DeviceKind::nic, 0);
  CHECK(width(graph, 0, 1) == doctest::Approx(80));
  CHECK(width(graph, 0, hub) == doctest::Approx(24));
  CHECK(width(graph, hub, cpu) == doctest::Approx(24));
  CHECK(best_path(graph, 0, 1)->path == PathClass::nvl);
  CHECK(gbps(best_path(graph, 0, 1)->width) == doctest::Approx(80));
  CHECK(best_path(graph, 0, nic)->path == PathClass::pix);
  CHECK(gbps(best_path(graph, 0, nic)->width) == doctest::Approx(24));
  CHECK(best_path(graph, 0, 0)->path == PathClass::loc);
  CHECK_FALSE(find_device(graph, DeviceKind::nvswitch, 0));
  const Cluster cluster(spec);
  CHECK(gbps(cluster.links()[cluster.nic_out(0, 0)].rate) == doctest::Approx(25));
}

TEST_CASE("classes over PCIe count switches and sockets") {
  const ClusterSpec spec = spec_of(least_cluster(6) + R"(
pcie:
  cpu: {vendor: intel, model: Broadwell, sockets: 2}
  tree:
    - {switch: top, parent: 0}
    - {switch: left, parent: top, gpus: [0, 1]}
    - {switch: right, parent: top, gpus: [2]}
    - {switch: near, parent: 0, gpus: [3]}
    - {switch: far, parent: 1, gpus: [4, 5]}
)");
  const NodeGraph graph = build_node_graph(spec);
  CHECK(best_path(graph, 0, 1)->path == PathClass::pix);
  CHECK(best_path(graph, 0, 2)->path == PathClass::pxb);
  CHECK(best_path(graph, 0, 3)->path == PathClass::phb);
  CHECK(best_path(graph, 0, 4)->path == PathClass::sys);
  CHECK(gbps(best_path(graph, 0, 4)->width) == doctest::Approx(24));  // the slots; the sockets of Broadwell have 38.4
  CHECK(best_path(graph, 4, 0)->vertices.size() == best_path(graph, 0, 4)->vertices.size());
}

// NVIDIA/nccl src/graph/topo.h and topo.cc; lanes x rate / 80.
TEST_CASE("PCIe slots and socket links have NCCL's rates") {
  const auto slot = [](int generation, int lanes) {
    PcieSpec pcie;
    pcie.generation = generation;
    pcie.lanes = lanes;
    return gbps(pcie_rate(pcie));
  };
  CHECK(slot(3, 16) == doctest::Approx(12));
  CHECK(slot(4, 16) == doctest::Approx(24));
  CHECK(slot(5, 16) == doctest::Approx(48));
  CHECK(slot(6, 16) == doctest::Approx(96));
  CHECK(slot(4, 8) == doctest::Approx(12));
  const auto sockets = [](const std::string& cpu, const std::string& nccl = "2.30") {
    return gbps(cpu_link_rate(spec_of(least_cluster(2) + "nccl: \"" + nccl + "\"\npcie: {cpu: " + cpu + "}")));
  };
  CHECK(sockets("{vendor: amd}") == doctest::Approx(16));
  CHECK(sockets("{vendor: arm}") == doctest::Approx(6));
  CHECK(sockets("{vendor: power}") == doctest::Approx(32));
  CHECK(sockets("{vendor: intel, model: Skylake}") == doctest::Approx(10));
  CHECK(sockets("{vendor: intel, model: Skylake}", "2.14") == doctest::Approx(9));
  CHECK(sockets("{vendor: intel, model: Sapphire Rapids}") == doctest::Approx(22));
  CHECK(sockets("{vendor: intel, link: 30 GB/s}") == doctest::Approx(30));
}

// Links x transfers per second x 2 B, by the makers' data sheets. arm: NCCL's figure.
TEST_CASE("bytes between sockets move at the rates of data sheets, or at what the file states") {
  const auto sockets = [](const std::string& cpu) {
    return gbps(socket_link_rate(spec_of(least_cluster(2) + "pcie: {cpu: " + cpu + "}")));
  };
  CHECK(sockets("{vendor: intel, model: Broadwell}") == doctest::Approx(2 * 9.6 * 2));
  CHECK(sockets("{vendor: intel, model: Ice Lake}") == doctest::Approx(3 * 11.2 * 2));
  CHECK(sockets("{vendor: intel, model: Sapphire Rapids}") == doctest::Approx(3 * 16 * 2));
  CHECK(sockets("{vendor: intel}") == doctest::Approx(2 * 10.4 * 2));
  CHECK(sockets("{vendor: amd}") == doctest::Approx(3 * 18 * 2));
  CHECK(sockets("{vendor: amd, model: Genoa}") == doctest::Approx(3 * 32 * 2));
  CHECK(sockets("{vendor: power}") == doctest::Approx(64));
  CHECK(sockets("{vendor: arm}") == doctest::Approx(6));
  CHECK(sockets("{vendor: amd, model: Genoa, link: 30 GB/s}") == doctest::Approx(30));
}

TEST_CASE("the widest relay wins, and of equals the lowest") {
  const auto relay = [](const std::string& links) {
    const NodeGraph graph =
        build_node_graph(spec_of(least_cluster(4) + "nvlink: {kind: mesh, links_per_gpu: 12, links: [" + links + "]}"));
    CHECK(relays(graph, 0, 3) == std::vector<int>{1, 2});
    const auto path = best_path(graph, 0, 3);
    CHECK(path->path == PathClass::nvb);
    return path->vertices[1];
  };
  CHECK(relay("[0, 1, 2], [1, 3, 2], [0, 2, 2], [2, 3, 2]") == 1);
  CHECK(relay("[0, 1, 4], [1, 3, 1], [0, 2, 2], [2, 3, 2]") == 2);
}

}  // namespace shardsim::graph_test
