#include "topology/spec/cluster_spec.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/tree/tree_editor.h"
#include "tests/topology/cluster_files.h"

namespace shardsim::cluster_spec_test {

using namespace shardsim::testing;

// Expected values: docs/formats/cluster.md.

TEST_CASE("a cluster file with the required keys alone has the documented defaults") {
  const ClusterSpec spec = spec_of(least_cluster(8));
  CHECK(spec.nodes == 1);
  CHECK(spec.device == "cuda");
  CHECK(spec.nccl == "2.30");
  CHECK(spec.gpu.reserved == Bytes{2LL << 30});
  CHECK(spec.gpu.flops_efficiency == 0.5);
  CHECK(spec.gpu.kernel_overhead == Seconds{3e-6});
  CHECK(spec.gpu.launch_overhead == Seconds{5e-6});
  CHECK(spec.gpu.sort_per_lookup.value == doctest::Approx(0.05e-9 * 132 / spec.gpu.sm_count));
  CHECK(spec.gpu.sorted_update_kernels == 6);
  CHECK(spec.gpu.overlap_slowdown == 0);
  CHECK_FALSE(spec.host.memory);
  CHECK(spec.host.memory_bandwidth.bytes_per_second == 51.0 * 1024 * 1024 * 1024);
  CHECK(gbps(*spec.host.gpu_link_bandwidth) == doctest::Approx(24));
  CHECK(spec.nvlink.kind == NvlinkKind::none);
  CHECK(spec.pcie.generation == 4);
  CHECK(spec.pcie.sockets == 2);
  CHECK(spec.pcie.p2p);
  CHECK_FALSE(spec.nics);
  CHECK(spec.fabric == FabricSpec{});
  CHECK(gbps(spec.p2p.channel_rate) == doctest::Approx(14));
  CHECK_FALSE(spec.p2p.pxn);
  CHECK_FALSE(spec.graph_one_node);
  CHECK(spec.launch_overhead == Seconds{20e-6});
  CHECK(spec.faults.empty());
}

TEST_CASE("the GPU's model fills in cache, L2 rate and SM count") {
  const auto of_model = [](const std::string& model) {
    return spec_of("schema: shardsim.cluster/1\nname: t\ngpu: {model: " + model +
                   ", count: 1, compute_capability: \"8.0\", hbm: 16 GiB, hbm_bandwidth: 1000 GB/s, flops: 10 TFLOP/s}")
        .gpu;
  };
  CHECK(of_model("A100-SXM4-80GB").l2 == Bytes{40LL << 20});
  CHECK(gbps(of_model("A100-SXM4-80GB").l2_bandwidth) == doctest::Approx(2271));
  CHECK(of_model("V100").sm_count == 80);
  CHECK(of_model("V100").l2 == Bytes{6LL << 20});
  CHECK(gbps(of_model("V100").l2_bandwidth) == doctest::Approx(1870));
  CHECK(of_model("NVIDIA H100 PCIe").sm_count == 132);
  CHECK(gbps(of_model("NVIDIA H100 PCIe").l2_bandwidth) == doctest::Approx(3500));
  CHECK(of_model("A1000").sm_count == 100);
  CHECK(of_model("A1000").l2 == Bytes{0});
  CHECK(gbps(of_model("A1000").l2_bandwidth) == doctest::Approx(894));
  CHECK(gbps(of_model("A1000").copy_bandwidth) == doctest::Approx(894));
  CHECK(of_model("V100").flops == std::map<std::string, Flops>{{"fp32", Flops{10e12}}});
}

TEST_CASE("the reserved part of the memory is a share or bytes") {
  const auto reserved = [](const std::string& text) {
    return spec_of(
               "schema: shardsim.cluster/1\nname: t\ngpu: {model: x, count: 1, compute_capability: \"8.0\", hbm: "
               "10 GiB, hbm_bandwidth: 1000 GB/s, flops: 10 TFLOP/s, reserved: " +
               text + "}")
        .gpu.reserved;
  };
  CHECK(reserved("\"10 %\"") == Bytes{1LL << 30});
  CHECK(reserved("0.5") == Bytes{5LL << 30});
  CHECK(reserved("2 GiB") == Bytes{2LL << 30});
  CHECK_THROWS_AS(reserved("10 GiB"), Error);
  CHECK_THROWS_AS(reserved("2"), Error);
}

// NVIDIA/nccl src/graph/topo.h: SM60 18, SM70 and SM80 20 (22 up to 2.17), SM86 12, SM90 20.6, SM100 40.1.
TEST_CASE("one NVLink has NCCL's rate for its compute capability and version") {
  const auto rate = [](const std::string& capability, const std::string& nccl) {
    return gbps(
        spec_of(least_cluster(2, capability) + "nvlink: {kind: switch, links_per_gpu: 4}\nnccl: \"" + nccl + "\"")
            .nvlink.per_link_effective);
  };
  CHECK(rate("6.0", "2.30") == doctest::Approx(18));
  CHECK(rate("7.0", "2.30") == doctest::Approx(20));
  CHECK(rate("8.0", "2.30") == doctest::Approx(20));
  CHECK(rate("8.0", "2.14") == doctest::Approx(22));
  CHECK(rate("8.6", "2.30") == doctest::Approx(12));
  CHECK(rate("9.0", "2.30") == doctest::Approx(20.6));
  CHECK(rate("10.0", "2.30") == doctest::Approx(40.1));
  CHECK(gbps(spec_of(least_cluster(2, "9.0") + "nvlink: {kind: switch, links_per_gpu: 18}").nvlink.per_link) ==
        doctest::Approx(25));
}

TEST_CASE("a data-sheet rate alone scales what NCCL counts with") {
  const auto nvlink = [](const std::string& keys) {
    return spec_of(least_cluster(2) + "nvlink: {kind: switch, links_per_gpu: 4, " + keys + "}").nvlink;
  };
  CHECK(gbps(nvlink("per_link: 50 GB/s").per_link_effective) == doctest::Approx(40));
  CHECK(gbps(nvlink("per_link: 50 GB/s, per_link_effective: 30 GB/s").per_link_effective) == doctest::Approx(30));
}

TEST_CASE("a value that was concluded from another one does not outlive a change of it") {
  const Tree file = parse_yaml(least_cluster(4) +
                                   "nodes: 2\nnvlink: {kind: switch, links_per_gpu: 12, per_link_effective: 20 GB/s}\n"
                                   "nics: {per_gpu: 1, rate: 200 Gbit/s}\n"
                                   "graph: {multi_node: {channels: 4, bw_intra: 24 GB/s, bw_inter: 24 GB/s}}\n",
                               "test.yaml");
  const auto with = [&](const std::vector<std::pair<std::string, std::string>>& changes) {
    Tree tree = file;
    for (const auto& [path, value] : changes) set_path(tree, path, parse_yaml_value(value, {"argument --set " + path}));
    return read_cluster(tree);
  };
  CHECK(with({{"nics.latency", "3 us"}, {"gpu.hbm", "80 GiB"}}).graph_multi_node->channels == 4);
  CHECK(error_of([&] {
          with({{"nics.rate", "400 Gbit/s"}});
        })
            .starts_with("argument --set nics.rate: nics.rate is changed, but graph.multi_node was stated for its old "
                         "value (test.yaml:7:21)"));
  CHECK_FALSE(with({{"gpu.count", "2"}}).graph_multi_node);  // found anew: gpu_cut_test.cpp
  for (const char* path : {"nvlink.links_per_gpu", "nics.per_gpu"})
    CHECK(error_of([&, path] { with({{path, "2"}}); }).find("graph.multi_node was stated") != std::string::npos);
  CHECK(error_of([&] {
          with({{"nvlink.per_link", "50 GB/s"}, {"graph.multi_node", "search"}});
        }).find("per_link_effective was stated") != std::string::npos);
  CHECK_FALSE(with({{"nics.rate", "400 Gbit/s"}, {"graph.multi_node", "search"}}).graph_multi_node);
  CHECK(
      gbps(with({{"nics.rate", "400 Gbit/s"}, {"graph.multi_node.bw_inter", "48 GB/s"}}).graph_multi_node->bw_inter) ==
      doctest::Approx(48));
  const Tree above = merged(file, parse_yaml("nics: {per_gpu: 1, rate: 100 Gbit/s}\n", "above.yaml"));
  CHECK(error_of([&] { read_cluster(above); }).starts_with("above.yaml:1:"));
  const Tree table =
      merged(parse_yaml(least_cluster(4) + "nics: {per_gpu: 1, rate: 200 Gbit/s}\n", "below.yaml"),
             parse_yaml("graph: {multi_node: {channels: 2, bw_intra: 9 GB/s, bw_inter: 9 GB/s}}\n", "t"));
  CHECK(read_cluster(table).graph_multi_node->channels == 2);
}

TEST_CASE("the range of a fit is read, and refused where it holds nothing") {
  const auto reach = [](const std::string& range) {
    return spec_of(least_cluster(8) + "overheads: {all_to_all: {across_nodes: {start: 1 ms, holds_for: " + range +
                   "}}}\n")
        .overheads.at("all_to_all")
        .across_nodes;
  };
  const FitRange range =
      *reach("{bytes_from: 1 MB, bytes_to: 1 GB, ranks_from: 16, ranks_to: 32, nvlink: mesh}").holds_for;
  CHECK(range == FitRange{{1'000'000}, Bytes{1'000'000'000}, 16, 32, "mesh"});
  CHECK(reach("{}").holds_for == FitRange{});
  CHECK(error_of([&] { reach("{bytes_from: 1 MB, bytes_to: 1 KB}"); }).find("bytes_to") != std::string::npos);
  CHECK(error_of([&] { reach("{ranks_from: 8, ranks_to: 4}"); }).find("ranks_to") != std::string::npos);
  CHECK(error_of([&] { reach("{nvlink: ring}"); }).find("ring") != std::string::npos);
}

TEST_CASE("the range of what is fitted of a GPU is refused where it holds nothing") {
  const auto with = [](const std::string& range) {
    Tree tree = parse_yaml(least_cluster(8), "test.yaml");
    set_path(tree, "gpu.holds_for", parse_yaml_value(range, {"test"}));
    return read_cluster(tree).gpu.holds_for;
  };
  CHECK(with("{bytes_from: 1 MB, bytes_to: 1 GB, gflop_to: 3}") == WorkRange{{1'000'000}, Bytes{1'000'000'000}, 0, 3});
  CHECK(error_of([&] { with("{bytes_from: 1 MB, bytes_to: 1 KB}"); }).find("bytes_to") != std::string::npos);
  CHECK(error_of([&] { with("{gflop_from: 2, gflop_to: 1}"); }).find("gflop_to") != std::string::npos);
}

TEST_CASE("keys of the GPU that have no effect are named where they say something of their own") {
  GpuSpec gpu = shipped("dgx_a100_80gb").gpu;
  CHECK(keys_without_effect(gpu).empty());
  gpu.launch_overhead = Seconds{7e-6};
  gpu.l2_bandwidth = Bandwidth{1e12};
  CHECK(keys_without_effect(gpu) == std::vector<std::string>{"gpu.launch_overhead", "gpu.l2_bandwidth"});
  for (const char* name : {"a100_mesh_4x8", "cscs_alps_gh200", "gcp_a4", "pcie_rtx6000d", "toy_2x4", "two_tier_8"}) {
    CAPTURE(name);
    CHECK(keys_without_effect(shipped(name).gpu).empty());
  }
}

TEST_CASE("capability and NCCL version are read with and without quotes") {
  const ClusterSpec spec = spec_of(
      "schema: shardsim.cluster/1\nname: t\nnccl: 2.30\ngpu: {model: x, count: 1, compute_capability: 10.0, hbm: 1 "
      "GiB, "
      "hbm_bandwidth: 1 GB/s, flops: 1 TFLOP/s}");
  CHECK(spec.nccl == "2.30");
  CHECK(capability_number(spec.gpu.compute_capability) == 100);
}

OverheadSpec overhead(double start, double per_remote_peer, std::optional<double> nic_efficiency) {
  OverheadSpec made;
  made.start = {start};
  made.per_remote_peer = {per_remote_peer};
  made.nic_efficiency = nic_efficiency;
  return made;
}

TEST_CASE("every collective kind has overheads, by default those of the document") {
  const ClusterSpec spec = spec_of(least_cluster(8));
  CHECK(spec.overheads.size() == 6);
  const OverheadPair& all_to_all = spec.overheads.at("all_to_all");
  CHECK(all_to_all.in_node == overhead(60e-6, 0, {}));
  CHECK(all_to_all.across_nodes == overhead(60e-6, 5e-6, 0.90));
  CHECK(spec.overheads.at("send_recv").across_nodes == overhead(60e-6, 0, 0.90));
  for (const char* kind : {"all_reduce", "all_gather", "reduce_scatter", "broadcast"}) {
    CHECK(spec.overheads.at(kind) == OverheadPair{});
  }
}

TEST_CASE("an efficiency says a share, or that the graph bounds it") {
  const ClusterSpec spec = spec_of(least_cluster(8) + R"(
overheads:
  all_to_all: {across_nodes: {nic_efficiency: graph}}
  all_reduce: {across_nodes: {nic_efficiency: {value: 0.8, source: a test}}}
  all_gather: {across_nodes: {nic_efficiency: {value: graph, source: a test}}}
)");
  CHECK_FALSE(spec.overheads.at("all_to_all").across_nodes.nic_efficiency);
  CHECK(spec.overheads.at("all_to_all").across_nodes.start == Seconds{60e-6});
  CHECK(spec.overheads.at("all_reduce").across_nodes.nic_efficiency == 0.8);
  CHECK_FALSE(spec.overheads.at("all_gather").across_nodes.nic_efficiency);
}

TEST_CASE("what a NIC carries at most is a rate above 0, across nodes alone") {
  const auto with = [](const std::string& reach, const std::string& rate) {
    return spec_of(least_cluster(8) + "overheads: {all_reduce: {" + reach + ": {nic_rate: " + rate + "}}}\n");
  };
  CHECK(with("across_nodes", "5 GB/s").overheads.at("all_reduce").across_nodes.nic_rate == Bandwidth{5e9});
  CHECK_FALSE(spec_of(least_cluster(8)).overheads.at("all_reduce").across_nodes.nic_rate);
  CHECK_THROWS_AS(with("across_nodes", "0 GB/s"), Error);
  CHECK_THROWS_AS(with("in_node", "5 GB/s"), Error);
}

TEST_CASE("an efficiency above 1 may be stated with its source, but neither without one, nor fitted, nor of ports") {
  const auto cluster = [](const std::string& efficiency, const std::string& kind = "all_reduce") {
    return least_cluster(8) + "overheads: {" + kind + ": {in_node: {efficiency: " + efficiency + "}}}\n";
  };
  const std::string sourced = "{value: 1.126, source: s}";
  const ClusterSpec spec = spec_of(cluster(sourced));
  CHECK(spec.overheads.at("all_reduce").in_node.efficiency == 1.126);
  CHECK(read_cluster(parse_yaml(write_cluster(spec), "again")).overheads == spec.overheads);
  CHECK_THROWS_WITH_AS(spec_of(cluster("1.126")), doctest::Contains("say why it is more"), Error);
  CHECK_THROWS_WITH_AS(spec_of(cluster(sourced, "all_to_all")), doctest::Contains("no port of a GPU carries more"),
                       Error);
  CHECK(spec_of(cluster("{value: 1, source: s, fitted: true}")).overheads.at("all_reduce").in_node.efficiency == 1);
  CHECK_THROWS_WITH_AS(spec_of(cluster("{value: 1.126, source: s, fitted: true}")),
                       doctest::Contains("an efficiency of 1.126 came of a fit"), Error);
}

TEST_CASE("values that state where they come from are collected") {
  const ClusterSpec spec = shipped("a100_mesh_4x8");
  const auto find = [&](const std::string& path) {
    const auto found = std::find_if(spec.sources.begin(), spec.sources.end(),
                                    [&](const SourcedValue& value) { return value.path == path; });
    REQUIRE(found != spec.sources.end());
    return *found;
  };
  CHECK(find("nvlink.nvb_efficiency").fitted);
  CHECK(find("nvlink.nvb_efficiency").rows_used == 1);
  CHECK(find("overheads.all_to_all.across_nodes.start").fitted_on ==
        std::vector<std::string>{"RM-2 RW", "RM-4 3-tier"});
  CHECK_FALSE(find("nvlink.per_link_effective").fitted);
  CHECK(spec.sources.size() == 7);
  CHECK(spec.overheads.at("all_to_all").across_nodes.start_is_fitted());
  CHECK_FALSE(spec.overheads.at("all_to_all").in_node.start_is_fitted());
}

TEST_CASE("without a PCIe tree each NIC shares a switch with its GPUs") {
  const auto tree = [](int gpus, const std::string& more) { return spec_of(least_cluster(gpus) + more).pcie.tree; };
  const auto own = tree(4, "nics: {per_gpu: 1, rate: 200 Gbit/s}");
  REQUIRE(own.size() == 4);
  CHECK(own[1] == PcieSpec::Switch{"s1", "0", {1}, {1}});
  CHECK(own[2] == PcieSpec::Switch{"s2", "1", {2}, {2}});
  const auto shared = tree(8, "nics: {shared_by: 2, rate: 200 Gbit/s}");
  REQUIRE(shared.size() == 4);
  CHECK(shared[3] == PcieSpec::Switch{"s3", "1", {6, 7}, {3}});
  const auto two_each = tree(2, "nics: {per_gpu: 2, rate: 200 Gbit/s}");
  CHECK(two_each[1] == PcieSpec::Switch{"s1", "1", {1}, {2, 3}});
  const auto none = tree(3, "");
  REQUIRE(none.size() == 2);
  CHECK(none[0] == PcieSpec::Switch{"s0", "0", {0, 1}, {}});
  CHECK(none[1] == PcieSpec::Switch{"s1", "1", {2}, {}});
}

TEST_CASE("the hop class of a graph comes from the wiring when the file does not say") {
  const std::string graph =
      "graph: {one_node: {channels: 2, bw_intra: 20 GB/s}, multi_node: {channels: 1, bw_intra: 20 GB/s, bw_inter: 10 "
      "GB/s, rings: [[0, 2, 1, 3]]}}\n";
  const Cluster built =
      cluster_of(least_cluster(4) +
                 "nvlink: {kind: mesh, links_per_gpu: 12, links: [[0, 1, 4], [1, 2, 4], [2, 3, 4], [0, "
                 "3, 4]]}\n" +
                 graph);
  const ClusterSpec& mesh = built.spec();
  CHECK(mesh.graph_one_node->intra_path == "nvl");
  CHECK(mesh.graph_multi_node->intra_path == "nvb");
  CHECK(gbps(mesh.graph_one_node->bw_inter) == doctest::Approx(20));
  CHECK(cluster_of(least_cluster(4) + graph).spec().graph_one_node->intra_path == "sys");
}

// H100: 79.65 GiB of which 3.5 are reserved; A100-40GB: 5 %; a budget below the product's memory, and a GPU that nobody
// knows, have nothing reserved.
TEST_CASE("a known GPU has memory that no plan gets") {
  const auto reserved = [](const std::string& model, const std::string& hbm) {
    return spec_of("schema: shardsim.cluster/1\nname: t\ngpu: {model: " + model +
                   ", count: 1, compute_capability: \"8.0\", hbm: " + hbm +
                   ", hbm_bandwidth: 1000 GB/s, flops: 10 TFLOP/s}")
        .gpu.reserved;
  };
  CHECK(reserved("H100-SXM5-80GB", "81559 MiB") == Bytes{3584LL << 20});
  CHECK(reserved("B200", "183359 MiB") == Bytes{3584LL << 20});
  CHECK(reserved("A100-SXM4-40GB", "40 GiB") == Bytes{2LL << 30});
  CHECK(reserved("H100-SXM5-80GB", "7 GiB") == Bytes{0});
  CHECK(reserved("RTX-2080-Ti-4GiB", "4 GiB") == Bytes{0});
  CHECK(reserved("toy", "16 GiB") == Bytes{0});
}

}  // namespace shardsim::cluster_spec_test
