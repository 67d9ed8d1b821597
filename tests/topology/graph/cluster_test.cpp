#include "topology/graph/cluster.h"

#include <doctest/doctest.h>
#include <malloc.h>

#include <algorithm>
#include <map>

#include "tests/topology/cluster_files.h"

namespace shardsim::cluster_test {

using namespace shardsim::testing;

namespace {

std::vector<std::string> names(const Cluster& cluster, const std::vector<LinkId>& ids) {
  std::vector<std::string> result;
  for (const LinkId id : ids) result.push_back(cluster.link_name(id));
  return result;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("ports have the rates of NVLink counts and NIC line rates") {
  const auto rate = [](const std::string& name, LinkKind kind) {
    const Cluster cluster(shipped(name));
    for (const Link& link : cluster.links()) {
      if (link.kind == kind) return gbps(link.rate);
    }
    return 0.0;
  };
  CHECK(rate("dgx_a100_80gb", LinkKind::nvlink_out) == doctest::Approx(240));
  CHECK(rate("dgx_a100_80gb", LinkKind::nic_in) == doctest::Approx(25));
  CHECK(rate("hgx_h100_8x400g", LinkKind::nvlink_in) == doctest::Approx(370.8));
  CHECK(rate("hgx_h100_8x400g", LinkKind::nic_out) == doctest::Approx(50));
  CHECK(rate("aws_p4d", LinkKind::nic_out) == doctest::Approx(12.5));
  CHECK(rate("a100_nvswitch_4x8", LinkKind::nvlink_out) == doctest::Approx(240));
  CHECK(rate("toy_2x4", LinkKind::nvlink_out) == doctest::Approx(100));
  CHECK(rate("toy_2x4", LinkKind::nic_out) == doctest::Approx(10));
  CHECK(rate("two_tier_8", LinkKind::nvlink_out) == doctest::Approx(450));
  CHECK(rate("two_tier_8", LinkKind::nic_out) == doctest::Approx(25));
}

TEST_CASE("a route inside a switched node uses the sender's and the receiver's port") {
  const Cluster cluster(shipped("toy_2x4"));
  CHECK(cluster.world_size() == 8);
  const Route route = cluster.route(4, 6);
  CHECK(route.path == PathClass::nvl);
  CHECK(names(cluster, route.links) == Names{"node1/gpu0/nvlink_out", "node1/gpu2/nvlink_in"});
  CHECK(gbps(route.width) == doctest::Approx(100));
  CHECK(route.latency == Seconds{1e-6});
  const Route self = cluster.route(5, 5);
  CHECK(self.path == PathClass::loc);
  CHECK(self.links.empty());
  CHECK(self.width == Bandwidth{0});
}

TEST_CASE("a route between nodes goes from NIC to NIC") {
  const Cluster cluster(shipped("toy_2x4"));
  const Route route = cluster.route(1, 6);
  CHECK(route.path == PathClass::net);
  CHECK(names(cluster, route.links) == Names{"node0/nic1/out", "node1/nic2/in"});
  CHECK(gbps(route.width) == doctest::Approx(10));
  CHECK(route.latency == Seconds{2e-6});
}

TEST_CASE("without GPUDirect the bytes cross the PCIe slots too") {
  const Cluster cluster = cluster_of(least_cluster(2) +
                                     "nodes: 2\nnvlink: {kind: switch, links_per_gpu: 12}\n"
                                     "nics: {per_gpu: 1, rate: 400 Gbit/s, gpudirect: false}\n");
  const Route route = cluster.route(0, 3);
  CHECK(names(cluster, route.links) ==
        Names{"node0/gpu0/pcie_out", "node0/nic0/out", "node1/nic1/in", "node1/gpu1/pcie_in"});
  CHECK(gbps(route.width) == doctest::Approx(24));
  CHECK(cluster.route(0, 1).path == PathClass::nvl);
}

TEST_CASE("a node without NVLink shares its PCIe tree") {
  const std::string tree = R"(
  tree:
    - {switch: s0, parent: 0, gpus: [0, 1]}
    - {switch: s1, parent: 1, gpus: [2, 3]}
)";
  const Cluster cluster = cluster_of(least_cluster(4) + "pcie:" + tree);
  CHECK(names(cluster, cluster.route(0, 1).links) == Names{"node0/gpu0/pcie_out", "node0/gpu1/pcie_in"});
  CHECK(cluster.path_class(0, 1) == PathClass::pix);
  CHECK(cluster.path_class(0, 2) == PathClass::sys);
  CHECK(names(cluster, cluster.route(0, 2).links) == Names{"node0/gpu0/pcie_out", "node0/pcie/switch0-cpu0",
                                                           "node0/pcie/cpu0-cpu1", "node0/pcie/cpu1-switch1",
                                                           "node0/gpu2/pcie_in"});
  CHECK(cluster.route(0, 2).latency == Seconds{1e-6});
  const Cluster hosts = cluster_of(least_cluster(4) + "pcie:\n  p2p: false" + tree);
  CHECK(hosts.path_class(0, 1) == PathClass::phb);
  CHECK(names(hosts, hosts.route(0, 1).links) ==
        Names{"node0/gpu0/pcie_out", "node0/pcie/switch0-cpu0", "node0/pcie/cpu0-switch0", "node0/gpu1/pcie_in"});
}

// NVIDIA/nccl src/graph/paths.cc, ncclTopoCheckP2p(): up to PXB, on AMD's CPUs up to SYS for two GPUs; 2.14 by the CPU.
TEST_CASE("pairs beyond the reach of direct copies go through host memory") {
  const auto through_host = [](int count, const std::string& keys, int from, int to) {
    const std::string tree =
        count == 4 ? R"(
  tree:
    - {switch: s0, parent: 0, gpus: [0]}
    - {switch: s1, parent: s0, gpus: [1]}
    - {switch: s2, parent: 0, gpus: [2]}
    - {switch: s3, parent: 1, gpus: [3]}
)"
                   : "\n  tree: [{switch: s0, parent: 0, gpus: [0]}, {switch: s1, parent: 1, gpus: [1]}]\n";
    return cluster_of(least_cluster(count) + keys + tree).route(from, to).through_host;
  };
  const std::string intel = "pcie:\n  cpu: {vendor: intel}", amd = "pcie:\n  cpu: {vendor: amd}";
  const std::string old = "nccl: \"2.14\"\n";
  CHECK_FALSE(through_host(4, intel, 0, 1));
  CHECK(through_host(4, intel, 0, 2));
  CHECK(through_host(4, intel, 3, 0));
  CHECK(through_host(4, amd, 0, 2));
  CHECK_FALSE(through_host(2, amd, 0, 1));
  CHECK(through_host(2, intel, 0, 1));
  CHECK_FALSE(through_host(4, old + amd, 0, 3));
  CHECK_FALSE(through_host(4, old + intel, 0, 2));
  CHECK(through_host(4, old + intel, 0, 3));
  CHECK(through_host(4, intel + "\n  p2p_level: pix", 0, 1));
  CHECK_FALSE(through_host(4, intel + "\n  p2p_level: phb", 0, 2));
  CHECK_FALSE(through_host(4, intel + "\n  p2p_level: sys", 0, 3));
  CHECK(through_host(4, intel + "\n  p2p_level: sys\n  p2p: false", 0, 1));
}

TEST_CASE("an uplink has the rate that the file states, and a link between sockets that of its CPUs") {
  const Cluster cluster = cluster_of(least_cluster(2) + R"(pcie:
  cpu: {vendor: intel, model: Ice Lake}
  tree:
    - {switch: s0, parent: 0, gpus: [0], uplink: 48 GB/s}
    - {switch: s1, parent: 1, gpus: [1]}
)");
  std::map<std::string, double> rates;
  for (const Link& link : cluster.links()) rates[cluster.link_name(link.local)] = gbps(link.rate);
  CHECK(rates.at("node0/pcie/switch0-cpu0") == doctest::Approx(48));
  CHECK(rates.at("node0/pcie/cpu1-switch1") == doctest::Approx(24));
  CHECK(rates.at("node0/pcie/cpu0-cpu1") == doctest::Approx(67.2));  // three UPI links of 11.2 GT/s and 16 bits
  CHECK(rates.at("node0/gpu0/pcie_out") == doctest::Approx(24));
}

TEST_CASE("GPUs use the NIC nearest to them") {
  const auto nics = [](const Cluster& cluster) {
    std::vector<int> used;
    for (int gpu = 0; gpu < cluster.ranks_per_node(); ++gpu) used.push_back(cluster.nic_of(gpu));
    return used;
  };
  CHECK(nics(Cluster(shipped("dgx_a100_80gb"))) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(nics(Cluster(shipped("aws_p4d"))) == std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(Cluster(shipped("aws_p4d")).nics_per_node() == 4);
  CHECK(nics(cluster_of(least_cluster(4) + "nics: {per_node: 3, rate: 100 Gbit/s}")) == std::vector<int>{0, 1, 2, 0});
  CHECK(nics(cluster_of(least_cluster(4) + R"(
nics: {per_gpu: 1, rate: 100 Gbit/s}
pcie:
  tree:
    - {switch: s0, parent: 0, gpus: [0, 1], nics: [2, 3]}
    - {switch: s1, parent: 1, gpus: [2, 3], nics: [0, 1]}
)")) == std::vector<int>{2, 3, 0, 1});
  CHECK(nics(cluster_of(least_cluster(2))) == std::vector<int>{-1, -1});
}

TEST_CASE("several NICs of one GPU act as one port of their summed rate") {
  const Cluster cluster = cluster_of(least_cluster(2) +
                                     "nodes: 2\nnvlink: {kind: switch, links_per_gpu: 12}\n"
                                     "nics: {per_gpu: 2, rate: 100 Gbit/s}\n"
                                     "faults: [{node: 1, nic: 2, rate_factor: 0.5}]\n");
  CHECK(cluster.nics_per_node() == 2);
  CHECK(gbps(cluster.route(0, 2).width) == doctest::Approx(25));
  CHECK(gbps(cluster.route(0, 3).width) == doctest::Approx(18.75));
}

TEST_CASE("the like link of another node has the same local index") {
  const Cluster cluster(shipped("a100_mesh_4x8"));
  const int per_node = static_cast<int>(cluster.links().size()) / 4;
  CHECK(per_node == 2 * 16 + 2 * 8);
  for (LinkId id = 0; id < static_cast<LinkId>(cluster.links().size()); ++id) {
    const Link& link = cluster.links()[id];
    CHECK(link.node == id / per_node);
    CHECK(link.local == id % per_node);
    CHECK(cluster.on_node(link.local, link.node) == id);
  }
}

TEST_CASE("a rank owns the links that end at its GPU and NIC, and every link of its routes ends at someone on it") {
  for (const char* name : {"a100_mesh_4x8", "toy_2x4", "aws_p4d"}) {
    CAPTURE(name);
    const Cluster cluster(shipped(name));
    for (int from = 0; from < cluster.world_size(); ++from) {
      for (int to = 0; to < cluster.world_size(); ++to) {
        if (from == to) continue;
        const Route route = cluster.route(from, to);
        const auto& of_from = cluster.links_of(from);
        const auto& of_to = cluster.links_of(to);
        CHECK(std::count(of_from.begin(), of_from.end(), route.links.front()) == 1);
        CHECK(std::count(of_to.begin(), of_to.end(), route.links.back()) == 1);
      }
    }
  }
  const Cluster toy(shipped("toy_2x4"));
  CHECK(names(toy, toy.links_of(6)) ==
        Names{"node1/gpu2/nvlink_out", "node1/gpu2/nvlink_in", "node1/nic2/out", "node1/nic2/in"});
  CHECK(Cluster(shipped("a100_mesh_4x8")).links_of(0).size() == 2 * 4 + 2);
}

TEST_CASE("faults slow the links and the compute that they name") {
  const std::string faults =
      "nodes: 2\nnics: {per_gpu: 1, rate: 200 Gbit/s}\nfaults:\n"
      "  - {node: 1, nic: 2, rate_factor: 0.5}\n"
      "  - {node: 0, gpu: 1, rate_factor: 0.25}\n"
      "  - {node: 0, gpu: 1, compute_factor: 0.5}\n"
      "  - {node: 0, gpu: 1, compute_factor: 0.5}\n";
  SUBCASE("switch") {
    const Cluster cluster = cluster_of(least_cluster(4) + "nvlink: {kind: switch, links_per_gpu: 12}\n" + faults);
    CHECK(gbps(cluster.route(6, 0).width) == doctest::Approx(12.5));
    CHECK(gbps(cluster.route(0, 6).width) == doctest::Approx(12.5));
    CHECK(gbps(cluster.route(2, 7).width) == doctest::Approx(25));
    CHECK(gbps(cluster.route(0, 1).width) == doctest::Approx(60));
    CHECK(gbps(cluster.route(1, 0).width) == doctest::Approx(60));
    CHECK(gbps(cluster.route(0, 2).width) == doctest::Approx(240));
    CHECK(gbps(cluster.route(4, 5).width) == doctest::Approx(240));
    CHECK(cluster.compute_factor(1) == doctest::Approx(0.25));
    CHECK(cluster.compute_factor(5) == 1);
  }
  SUBCASE("mesh") {
    const Cluster cluster = cluster_of(
        least_cluster(4) +
        "nvlink: {kind: mesh, links_per_gpu: 12, links: [[0, 1, 4], [1, 2, 4], [2, 3, 4], [0, 3, 4]]}\n" + faults);
    CHECK(gbps(cluster.route(0, 1).width) == doctest::Approx(20));
    CHECK(gbps(cluster.route(2, 3).width) == doctest::Approx(80));
    CHECK(gbps(cluster.route(4, 5).width) == doctest::Approx(80));
  }
}

TEST_CASE("memory per rank leaves out the reserved part") {
  ClusterSpec spec = shipped("a100_mesh_4x8");
  spec.gpu.reserved = Bytes{1LL << 30};
  CHECK(Cluster(spec).memory_per_rank() == Bytes{39LL << 30});
}

TEST_CASE("a cluster of 128 nodes holds less than 20 MB") {
  ClusterSpec spec = shipped("a100_mesh_4x8");
  spec.nodes = 128;
  const auto before = mallinfo2().uordblks;
  const Cluster cluster(spec);
  CHECK(cluster.world_size() == 1024);
  CHECK(mallinfo2().uordblks - before < 20'000'000);
}

}  // namespace shardsim::cluster_test
