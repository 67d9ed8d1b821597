#include "models/collective/nccl/graph.h"

#include <doctest/doctest.h>

#include "tests/models/collective/nccl/nccl_machines.h"

namespace shardsim::graph_test {

using namespace shardsim::test;

namespace {

NcclGraphs graphs(const std::string& yaml) {
  return world(yaml).graphs;
}

NcclGraphs graphs_of(const std::vector<int>& ranks, const std::string& yaml) {
  const Cluster cluster = cluster_from(yaml);
  return nccl_setup(ranks, cluster).graphs;
}

std::string shared(int by, const std::string& rate) {
  return fmt::format("shared_by: {}, rate: \"{}\"", by, rate);
}

// `count` channels of `speed` GB/s, the same inside and between nodes.
bool is(const NcclChannels& channels, int count, double speed, double inter = 0) {
  INFO(channels.count, " x ", channels.bw_intra, " / ", channels.bw_inter);
  const bool same = channels.count == count && std::abs(channels.bw_intra - speed) < 1e-9 &&
                    std::abs(channels.bw_inter - (inter > 0 ? inter : speed)) < 1e-9;
  CHECK(same);
  return same;
}

}  // namespace

// Graphs derived by hand from the search of NVIDIA/nccl 5067397c, src/graph/search.cc.
TEST_CASE("A100 nodes on NVSwitch: 12 x 20 inside, one ring of 24 per NIC outside") {
  CHECK(is(graphs(a100(1)).ring, 12, 20));
  CHECK(is(graphs(a100(2)).ring, 8, 24));
  CHECK(is(graphs(a100(2, 8, shared(2, "200 Gbit/s"))).ring, 4, 24));
  CHECK(is(graphs(a100(2, 8, shared(2, "100 Gbit/s"))).ring, 4, 12));
  CHECK(graphs(a100(2)).source == GraphSource::reference);
  CHECK(graphs(a100(2)).intra == PathClass::nvl);
  CHECK(graphs(a100(1)).nvls.count == 0);
}

TEST_CASE("H100 nodes on NVSwitch: rings by the number of NICs, doubled below 50 GB/s up to four") {
  CHECK(is(graphs(h100(1)).ring, 12, 30));
  CHECK(is(graphs(h100(1, 4)).ring, 12, 30));
  CHECK(is(graphs(h100(2)).ring, 8, 48));
  CHECK(is(graphs(h100(2, 8, shared(2, "400 Gbit/s"))).ring, 8, 24));
  CHECK(is(graphs(h100(2, 8, shared(4, "400 Gbit/s"))).ring, 4, 24));
  CHECK(is(graphs(h100(2, 8, shared(8, "400 Gbit/s"))).ring, 2, 24));
}

// A log of two nodes of eight with a NIC of 400 Gbit/s per GPU prints "Pattern 4, crossNic 2, nChannels 8, bw
// 48.000000/48.000000"; without crossing, 8 x 48 do not fit over 18 NVLinks of 20.6 GB/s, and 8 x 45 do.
TEST_CASE("rings change NICs where NVLinks alone would bound them, as NCCL_CROSS_NIC says") {
  const auto cross = [](int value) { return fmt::format("nccl_settings: {{cross_nic: {}}}\n", value); };
  CHECK(graphs(h100(2)).ring.crosses);
  CHECK(is(graphs(h100(2) + cross(0)).ring, 8, 45));
  CHECK_FALSE(graphs(h100(2) + cross(0)).ring.crosses);
  CHECK(is(graphs(h100(2) + cross(1)).ring, 8, 48));
  CHECK(graphs(a100(2) + cross(1)).ring.crosses);
  CHECK_FALSE(graphs(a100(2)).ring.crosses);
  CHECK(is(graphs(a100(2) + cross(1)).ring, 8, 24));
  // NVIDIA/nccl#1411: two nodes of H800 with four NICs of 400 Gbit/s. With four GPUs a node rings that change NICs are
  // not bounded by the 8 NVLinks of a GPU; with eight GPUs, of which half have no NIC of their own, they are.
  const auto h800 = [](int gpus, const char* nic) {
    return switched(2, gpus, "9.0", 8) + "pcie: {generation: 5}\n" + nics(nic);
  };
  const std::string four = h800(4, "per_gpu: 1, rate: \"400 Gbit/s\""),
                    eight = h800(8, "shared_by: 2, rate: \"400 Gbit/s\"");
  CHECK(graphs(four + cross(0)).ring.total(false) == doctest::Approx(160));
  CHECK(graphs(four + cross(1)).ring.total(false) == doctest::Approx(192));
  CHECK(graphs(four).ring.crosses);
  CHECK(graphs(eight + cross(0)).ring.total(false) == doctest::Approx(160));
  CHECK(graphs(eight + cross(1)).ring.total(false) == doctest::Approx(160));
  // One NIC, one node, and channels that the file states: nothing to change.
  CHECK_FALSE(graphs(h100(2, 8, shared(8, "400 Gbit/s")) + cross(1)).ring.crosses);
  CHECK_FALSE(graphs(h100(1) + cross(1)).ring.crosses);
}

TEST_CASE("NVLS has one head per GPU of a node, or per NIC; never a single one") {
  CHECK(is(graphs(h100(1)).nvls, 8, 40, 60));
  CHECK(is(graphs(h100(1, 4)).nvls, 4, 60, 60));
  CHECK(is(graphs(h100(2)).nvls, 8, 40, 48));
  CHECK(is(graphs(h100(2, 8, shared(2, "400 Gbit/s"))).nvls, 4, 48, 48));
  CHECK(is(graphs(h100(2, 8, shared(4, "400 Gbit/s"))).nvls, 2, 48, 48));
  CHECK(graphs(h100(2, 8, shared(8, "400 Gbit/s"))).nvls.count == 0);
  CHECK(graphs(h100(1) + nccl_2_14()).nvls.count == 0);
}

TEST_CASE("a mesh of four A100: rings over all its links") {
  CHECK(is(graphs(a100_four(2, shared(2, "200 Gbit/s"))).ring, 2, 24));
  CHECK(is(graphs(a100_four(2, "per_gpu: 1, rate: \"200 Gbit/s\"")).ring, 4, 24));
  CHECK(graphs(a100_four(2, "per_gpu: 1, rate: \"200 Gbit/s\"")).source == GraphSource::reference);
}

TEST_CASE("cube meshes: the double links form one cycle, the single ones another") {
  CHECK(is(graphs(v100_cube()).ring, 6, 20));
  CHECK(is(graphs(cube_mesh(1)).ring, 12, 20));
  CHECK(is(graphs(cube_mesh(4)).ring, 8, 24));
  CHECK(graphs(v100_cube()).intra == PathClass::nvl);
  CHECK_FALSE(graphs(v100_cube()).same_channels);
}

TEST_CASE("one GPU per node: its PCIe port or its NIC") {
  CHECK(is(graphs(single(2, "7.0", 3, "100 Gbit/s")).ring, 1, 12));
  CHECK(is(graphs(single(2, "8.0", 4, "200 Gbit/s")).ring, 1, 24));
  CHECK(is(graphs(single(2, "9.0", 5, "400 Gbit/s")).ring, 2, 24));
  CHECK(graphs(single(2, "8.0", 4, "200 Gbit/s")).plain_tree);
}

TEST_CASE("PCIe nodes: one ring fills every port, unless the ring crosses a narrower link between sockets") {
  const auto node = [](int generation, const std::string& cpu, const std::string& rate) {
    return header(2) + gpu_line(8, generation == 5 ? "9.0" : "8.0") +
           fmt::format("pcie: {{generation: {}, cpu: {}}}\n", generation, cpu) +
           nics("per_gpu: 1, rate: \"" + rate + "\"");
  };
  CHECK(is(graphs(node(5, "{vendor: amd, sockets: 1}", "400 Gbit/s")).ring, 2, 24));
  CHECK(is(graphs(node(4, "{vendor: amd, sockets: 1}", "200 Gbit/s")).ring, 1, 24));
  CHECK(is(graphs(node(5, "{vendor: amd, sockets: 2}", "400 Gbit/s")).ring, 1, 15));
  CHECK(is(graphs(node(5, "{vendor: intel, model: Emerald Rapids, sockets: 2}", "400 Gbit/s")).ring, 2, 20));
  CHECK(graphs(node(5, "{vendor: amd, sockets: 2}", "400 Gbit/s")).intra == PathClass::sys);
}

// NVIDIA/nccl v2.14.3-1: NVLinks of 22 GB/s, speeds 44 30 22 ..., always doubled from 25 on.
TEST_CASE("2.14 finds 12 x 22 in an A100 node and 8 x 24 over 200 Gbit/s NICs") {
  CHECK(is(graphs(a100(1) + nccl_2_14()).ring, 12, 22));
  CHECK(is(graphs(a100(2) + nccl_2_14()).ring, 8, 24));
}

TEST_CASE("a stated graph is taken as it is for whole nodes, and searched for parts of them") {
  const std::string yaml =
      a100(2) +
      "graph: {one_node: {channels: 3, bw_intra: \"7 GB/s\"}, multi_node: {channels: 2, bw_intra: \"11 GB/s\", "
      "bw_inter: \"5 GB/s\", intra_path: phb}}\n";
  const NcclGraphs whole = graphs(yaml);
  CHECK(is(whole.ring, 2, 11, 5));
  CHECK(whole.source == GraphSource::stated);
  CHECK(whole.intra == PathClass::phb);
  CHECK(is(graphs_of(ranks_from(0, 8), yaml).ring, 3, 7));
  CHECK(is(graphs_of({0, 8}, yaml).ring, 1, 24));
  CHECK(graphs_of({0, 8}, yaml).source == GraphSource::reference);
}

TEST_CASE("a group uses the NICs of its own GPUs") {
  CHECK(is(graphs_of({0, 1, 2, 3, 8, 9, 10, 11}, h100(2)).ring, 8, 24));
  CHECK(graphs_of({0, 1, 2, 3, 8, 9, 10, 11}, h100(2)).nics == 4);
  CHECK(graphs_of({0, 1, 8, 9}, h100(2, 8, shared(2, "400 Gbit/s"))).nics == 1);
}

TEST_CASE("GPUs of a mesh that no ring of NVLinks joins fall back to one ring in index order") {
  const std::string chain = mesh(1, 4, "8.0", 4, "[[0, 1, 2], [1, 2, 2], [2, 3, 2]]");
  CHECK(graphs(chain).source == GraphSource::fallback);
  CHECK(graphs(chain).ring.count >= 1);
  CHECK(graphs(chain).intra > PathClass::nvl);
}

TEST_CASE("rates below every speed of the list still make one ring per NIC") {
  const NcclGraphs slow = graphs(a100(2, 8, shared(4, "0.1 Gbit/s")));
  CHECK(slow.source == GraphSource::fallback);
  CHECK(is(slow.ring, 2, 0.0125));
}

TEST_CASE("a NIC behind the host bridge is farther than PCIe switches") {
  CHECK(graphs(a100(2)).nic <= PathClass::pxb);
  CHECK(graphs(a100(2, 8, "per_gpu: 1, rate: \"200 Gbit/s\", gpudirect: false")).nic == PathClass::phb);
}

}  // namespace shardsim::graph_test
