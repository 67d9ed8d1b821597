#include <doctest/doctest.h>

#include "models/collective/nccl/cost.h"
#include "tests/models/collective/nccl/nccl_machines.h"

namespace shardsim::formula_test {

using namespace shardsim::test;

namespace {

constexpr auto kTree = NcclAlgorithm::tree, kRing = NcclAlgorithm::ring;
constexpr auto kLl = NcclProtocol::ll, kLl128 = NcclProtocol::ll128, kSimple = NcclProtocol::simple;
constexpr auto kAllReduce = CollectiveKind::all_reduce, kAllGather = CollectiveKind::all_gather;

std::string intel() {
  return "pcie: {cpu: {vendor: intel}}\n";
}

std::string shared_nics(int by, const std::string& rate) {
  return fmt::format("shared_by: {}, rate: \"{}\"", by, rate);
}

NcclSetup with_collnet(const std::string& yaml) {
  NcclSetup setup = world(yaml);
  setup.collnet = true;
  return setup;
}

}  // namespace

// All by hand from NVIDIA/nccl src/graph/tuning.cc.
TEST_CASE("trees inside a node: LL at 1/3.8 and LL128 at 7/9 of the rate of Simple") {
  const NcclSetup setup = world(a100(1));
  CHECK(nccl_bandwidth(kAllReduce, kTree, kSimple, setup) == doctest::Approx(.92 * 240 / 2));
  CHECK(nccl_bandwidth(kAllReduce, kTree, kLl, setup) == doctest::Approx(.92 * 240 / 3.8 / 2));
  CHECK(nccl_bandwidth(kAllReduce, kTree, kLl128, setup) == doctest::Approx(.92 * 240 * 7 / 9 / 2));
}

TEST_CASE("trees over several nodes: LL128 at 15/16, 17.8 GB/s per channel beyond two nodes") {
  CHECK(nccl_bandwidth(kAllReduce, kTree, kLl128, world(a100(2))) == doctest::Approx(160.0 / 2));
  const NcclSetup few = world(a100(2, 8, shared_nics(2, "100 Gbit/s")));
  CHECK(nccl_bandwidth(kAllReduce, kTree, kLl128, few) == doctest::Approx(.92 * 48 * 15 / 16 / 2));
  CHECK(nccl_bandwidth(kAllReduce, kTree, kSimple, world(a100(4))) == doctest::Approx(8 * 17.8 / 2));
  CHECK(nccl_bandwidth(kAllReduce, kTree, kSimple, world(h100(4))) == doctest::Approx(8 * 36.0 / 2));
}

TEST_CASE("a graph's rate is the one inside the nodes for one or two of them, the one between for more") {
  const auto rate = [](int nodes) {
    const std::string graph =
        "graph: {multi_node: {channels: 2, bw_intra: \"30 GB/s\", bw_inter: \"10 GB/s\", intra_path: nvl}}\n";
    const NcclSetup setup = world(a100(nodes) + graph);
    return nccl_bandwidth(kAllGather, kRing, kSimple, setup) * (8 * nodes - 1) / (8 * nodes);
  };
  CHECK(rate(2) == doctest::Approx(60));
  CHECK(rate(3) == doctest::Approx(20));
}

TEST_CASE("Ring LL: half the bus; in 2.14 a quarter, or a third inside a node but for all_reduce") {
  CHECK(nccl_bandwidth(kAllReduce, kRing, kLl, world(single(2, "8.0", 4, "200 Gbit/s"))) == doctest::Approx(12));
  const NcclSetup before = world(a100(1) + nccl_2_14());
  CHECK(nccl_bandwidth(kAllGather, kRing, kLl, before) == doctest::Approx(235 / 3.0 * 8 / 7));
  CHECK(nccl_bandwidth(kAllReduce, kRing, kLl, before) == doctest::Approx(235 / 4.0 * 8 / 14));
}

TEST_CASE("2.14 takes .7 of the bus for LL128 with fewer than two ranks per node, .92 from two on") {
  const auto rate = [](int gpus) {
    const std::string graph =
        "graph: {multi_node: {channels: 2, bw_intra: \"10 GB/s\", bw_inter: \"10 GB/s\", intra_path: nvl}}\n";
    const NcclSetup setup = world(a100(2, gpus) + graph + nccl_2_14());
    return nccl_bandwidth(kAllReduce, kRing, kLl128, setup) * (2 * gpus - 1) / gpus;
  };
  CHECK(rate(1) == doctest::Approx(.7 * 20));
  CHECK(rate(2) == doctest::Approx(.92 * 20));
}

TEST_CASE("Ring LL128 of Hopper and Blackwell is bounded per channel") {
  const std::string wide = "graph: {one_node: {channels: 4, bw_intra: \"90 GB/s\", intra_path: nvl}}\n";
  CHECK(nccl_bandwidth(kAllGather, kRing, kLl128, world(h100(1) + wide)) == doctest::Approx(4 * 36.7 * 8 / 7));
  CHECK(nccl_bandwidth(kAllGather, kRing, kLl128, world(switched(1, 8, "10.0", 18) + wide)) ==
        doctest::Approx(4 * 40.0 * 8 / 7));
}

TEST_CASE("every ring step pays the network post: 1 us with Intel, 2 us with AMD, three times for Simple") {
  const auto latency = [](const std::string& cpu, NcclProtocol protocol) {
    return nccl_latency(kAllGather, kRing, protocol, world(a100(2) + cpu));
  };
  CHECK(latency(intel(), kLl) == doctest::Approx(6.6 + 14 * 1 + 2.7));
  CHECK(latency("", kLl) == doctest::Approx(6.6 + 14 * 2 + 2.7));
  CHECK(latency(intel(), kSimple) == doctest::Approx(8.4 + 14 * 3.4 + 14));
  CHECK(latency("", kSimple) == doctest::Approx(8.4 + 14 * 6 + 14));
  CHECK(latency(intel(), kLl128) == doctest::Approx(14 + 14 * 1.9 + 4));
}

TEST_CASE("on POWER a tree of Simple over PCIe takes the hop of rings") {
  const auto tree = [](const std::string& vendor, NcclProtocol protocol) {
    const std::string node = header(1) + gpu_line(4) + "pcie: {cpu: {vendor: " + vendor + "}}\n";
    return nccl_latency(kAllReduce, kTree, protocol, world(node));
  };
  CHECK(tree("power", kSimple) == doctest::Approx(8.4 + 2 * 3 * 5.7));
  CHECK(tree("amd", kSimple) == doctest::Approx(8.4 + 2 * 3 * 4.0));
  CHECK(tree("power", kLl) == doctest::Approx(6.8 + 2 * 3 * 1.0));
}

TEST_CASE("trees: a chain inside the node and log2 of the nodes between them") {
  CHECK(nccl_latency(kAllReduce, kTree, kLl128, world(a100(1))) == doctest::Approx(14 + 2 * 7 * 1.25));
  CHECK(nccl_latency(kAllReduce, kTree, kSimple, world(a100(3))) == doctest::Approx(8.4 + 2 * (7 * 4 + 14)));
  CHECK(nccl_latency(kAllReduce, kTree, kSimple, world(a100(4))) == doctest::Approx(8.4 + 2 * (7 * 4 + 2 * 14)));
  CHECK(nccl_latency(kAllReduce, kTree, kLl, world(a100(2) + nccl_2_14())) ==
        doctest::Approx(4.4 + 2 * (7 * .52 * 1.8 + 5)));
  CHECK(nccl_latency(kAllReduce, kTree, kSimple, world(a100(2) + nccl_2_14())) == doctest::Approx(2 * (7 * 28 + 28)));
}

TEST_CASE("collnet by its NICs: half the excess of GPUs per channel counts, all_gather needs a NIC per GPU") {
  const NcclSetup setup = with_collnet(a100(2, 8, shared_nics(2, "200 Gbit/s")));
  CHECK(nccl_bandwidth(kAllReduce, NcclAlgorithm::collnet_direct, kSimple, setup) == doctest::Approx(96 / 1.5 / 2));
  CHECK(nccl_bandwidth(kAllGather, NcclAlgorithm::collnet_direct, kSimple, setup) == 0);
  CHECK_FALSE(nccl_allows(kAllReduce, NcclAlgorithm::collnet_direct, kSimple, with_collnet(cube_mesh(2))));
  CHECK(nccl_allows(kAllReduce, NcclAlgorithm::collnet_chain, kSimple, with_collnet(cube_mesh(2))));
}

TEST_CASE("collnet in 2.14: 8 us hops, .5 us per rank, .75 for chains, which pay no network hop") {
  const NcclSetup setup = with_collnet(a100(2) + nccl_2_14());
  CHECK(nccl_latency(kAllReduce, NcclAlgorithm::collnet_direct, kSimple, setup) ==
        doctest::Approx(2 * (8 + 7 * .5) + 10.7));
  CHECK(nccl_latency(kAllReduce, NcclAlgorithm::collnet_chain, kSimple, setup) == doctest::Approx(2 * 7 * 8));
  CHECK(nccl_bandwidth(kAllReduce, NcclAlgorithm::collnet_chain, kSimple, setup) == doctest::Approx(192 * .75 / 2));
}

TEST_CASE("NVLS gathers (p - 1) / p per head, unconverted; two heads are enough, one node has no NVLSTree") {
  CHECK(nccl_bandwidth(kAllGather, NcclAlgorithm::nvls, kSimple, world(h100(1))) ==
        doctest::Approx(8 * 40 * .85 * 7 / 8 * 7 / 8));
  const NcclSetup two_heads = world(h100(2, 8, shared_nics(4, "400 Gbit/s")));
  CHECK(nccl_allows(kAllReduce, NcclAlgorithm::nvls_tree, kSimple, two_heads));
  CHECK(nccl_bandwidth(kAllReduce, NcclAlgorithm::nvls_tree, kSimple, two_heads) == doctest::Approx(81.6 * 16 / 30));
  CHECK(nccl_allows(kAllReduce, NcclAlgorithm::nvls, kSimple, world(h100(1, 2))));
  CHECK_FALSE(nccl_allows(kAllReduce, NcclAlgorithm::nvls_tree, kSimple, world(h100(1))));
  CHECK_FALSE(nccl_allows(kAllReduce, NcclAlgorithm::nvls, kSimple, world(h100(2))));
}

// Speeds of 24 GB/s: 24 x .85 x 7/8 x 2 inside, of which more than two nodes get 24 through their NICs.
TEST_CASE("NVLSTree over slow NICs is bounded by them from three nodes on") {
  const auto bus = [](int nodes) {
    const NcclSetup setup = world(h100(nodes, 8, "per_gpu: 1, rate: \"200 Gbit/s\""));
    return nccl_bandwidth(kAllReduce, NcclAlgorithm::nvls_tree, kSimple, setup) * 2 * (8 * nodes - 1) / (8 * nodes);
  };
  CHECK(bus(2) == doctest::Approx(8 * 35.7));
  CHECK(bus(3) == doctest::Approx(8 * 24.0));
}

TEST_CASE("Blackwell: NVLS at .74") {
  const NcclSetup setup = world(switched(1, 8, "10.0", 18));
  CHECK(setup.graphs.nvls == NcclChannels{8, 80, 90});
  CHECK(nccl_bandwidth(kAllReduce, NcclAlgorithm::nvls, kSimple, setup) * 14 / 8 == doctest::Approx(8 * 90.0));
}

TEST_CASE("LL128 bears a NIC across two PCIe switches, and V100 in 2.14") {
  const std::string far_nic =
      "pcie: {generation: 4, tree: [{switch: root, parent: 0}, {switch: a, parent: root, gpus: [0, 1]}, "
      "{switch: b, parent: root, nics: [0, 1]}]}\n";
  const NcclSetup setup = world(switched(2, 2, "8.0", 12) + far_nic + nics("per_gpu: 1, rate: \"200 Gbit/s\""));
  CHECK(setup.graphs.nic == PathClass::pxb);
  CHECK(nccl_allows(kAllReduce, kRing, kLl128, setup));
  CHECK(nccl_allows(kAllReduce, kRing, kLl128, world(v100_cube() + nccl_2_14())));
}

}  // namespace shardsim::formula_test
