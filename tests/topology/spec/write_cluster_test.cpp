#include <doctest/doctest.h>

#include <filesystem>

#include "base/fields/exact_text.h"
#include "tests/topology/cluster_files.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim::write_cluster_test {

using namespace shardsim::testing;

namespace {

ClusterSpec again(const ClusterSpec& spec) {
  return read_cluster(parse_yaml(write_cluster(spec), "written.yaml"));
}

}  // namespace

TEST_CASE("every shipped cluster is written as text that reads back equal") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cluster_file(""))) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().filename().string());
    const ClusterSpec spec = read_cluster(shipped_tree(entry.path().filename().string()));
    CHECK(again(spec) == spec);
    CHECK(write_cluster(again(spec)) == write_cluster(spec));
    ++files;
  }
  CHECK(files >= 20);
}

TEST_CASE("every optional key and every source survives") {
  const std::string source = "source: \"a \\\"quoted\\\" \\\\ source: #1\"";
  const ClusterSpec spec = spec_of(
      "schema: shardsim.cluster/1\nname: all\nsummary: \"colon: and # and 'quotes'\"\nopen: [\"a: b\", \"- c\"]\n"
      "nodes: 3\ngpu:\n  model: X\n  count: 4\n  compute_capability: \"8.0\"\n"
      "  hbm: {value: 40 GiB, " +
      source + "}\n  reserved: {value: 10 %, " + source +
      "}\n"
      "  hbm_bandwidth: 1.5551 TB/s\n  flops: {fp32: {value: 19.5 TFLOP/s, " +
      source +
      "}, fp8: 1 PFLOP/s}\n"
      "  kernel_overhead: 3.3333 us\n  holds_for: {bytes_from: 1 MB, bytes_to: 2 GB, gflop_from: 0.5, gflop_to: 70}\n  "
      "stream_sharing: 0.25\n"
      "host: {memory: 1 TiB, memory_bandwidth: 50 GiB/s, gpu_link_bandwidth: 20 GB/s, time_factor: 0.7,\n"
      "  ssd: {read_bandwidth: 7 GB/s, write_bandwidth: 2 GB/s, iops: 500000, capacity: 7 TB}}\n"
      "nvlink: {kind: mesh, links_per_gpu: 12, relay: balanced, nvb_efficiency: {value: 0.7, " +
      source +
      ", fitted: true, fitted_on: [\"a, b\", c], rows_used: 7, error_unused_pct: 3.25},\n"
      "  nvb_holds_for: {bytes_from: 5 MB, ranks_to: 4},\n"
      "  links: {value: [[0, 1, 4], [1, 2, 2], [2, 3, 4], [0, 3, 2]], " +
      source +
      "}}\n"
      "pcie: {generation: 5, lanes: 8, latency: 2 us, p2p: true, cpu: {vendor: intel, model: \"Sapphire: Rapids\", "
      "sockets: 2, link: 7 GB/s},\n"
      "  tree: [{switch: a, parent: 0, gpus: [0, 1]}, {switch: b, parent: a, gpus: [2, 3], nics: [0, 1]}]}\n"
      "nics: {shared_by: 2, rate: 123456789 B/s, latency: 1.7 us, gpudirect: false, transport: infiniband, rate_basis: "
      "inferred}\n"
      "fabric: {kind: fat_tree, nodes_per_leaf: 2, oversubscription: 1.5, latency: 0.3 us, collapse: true, sharp: "
      "true}\nnccl: "
      "\"2.14\"\n"
      "graph:\n  cross_nic: false\n  one_node: {channels: 2, bw_intra: 20 GB/s, rings: [[0, 1, 2, 3], [3, 2, 1, 0]]}\n"
      "  multi_node: {channels: 1, bw_intra: 12 GB/s, bw_inter: 10 GB/s, intra_path: nvb}\n"
      "p2p: {channel_rate: 9.5 GB/s, channels_per_peer: 3, pxn: true}\n"
      "overheads:\n  launch_overhead: 21 us\n  all_to_all:\n    across_nodes:\n"
      "      start: {value: 4 ms, " +
      source +
      ", fitted: true, rows_used: 2}\n      nic_efficiency: graph\n"
      "      holds_for: {bytes_from: 2 MB, bytes_to: 3 GB, ranks_from: 4, ranks_to: 9, nvlink: mesh}\n"
      "  all_reduce: {across_nodes: {nic_efficiency: {value: graph, " +
      source +
      "}}}\n"
      "faults:\n  - {node: 1, gpu: 2, rate_factor: {value: 0.5, " +
      source +
      "}, compute_factor: 0.9}\n"
      "  - {node: 2, nic: 1, rate_factor: 0.25}\n");
  REQUIRE(spec.sources.size() == 8);
  REQUIRE(spec.overheads.at("all_to_all").across_nodes.start_is_fitted());
  CHECK(again(spec) == spec);
}

TEST_CASE("a changed number is written, a changed sourced number with its source") {
  ClusterSpec spec = shipped("a100_mesh_4x8");
  spec.launch_overhead = Seconds{17.25e-6};
  spec.nics->rate = Bandwidth{1e11 / 3};
  CHECK(again(spec) == spec);
  spec.nvlink.nvb_efficiency = 0.5;
  for (SourcedValue& source : spec.sources) {
    if (source.path == "nvlink.nvb_efficiency") source.value = "0.5";
  }
  CHECK(again(spec) == spec);
  CHECK(
      write_cluster(spec).find("nvb_efficiency: {value: \"0.5\", source: \"FlexShard paper, Table 6\", fitted: true") !=
      std::string::npos);
}

TEST_CASE("a PCIe tree that no file states is not written, so that a calibrated file serves other numbers of GPUs") {
  const ClusterSpec eight = read_cluster(shipped_tree("dgx_h100.yaml"));
  REQUIRE(eight.pcie.tree.size() == 8);
  std::string text = write_cluster(eight);
  CHECK(text.find("tree:") == std::string::npos);
  text.replace(text.find("count: 8"), 8, "count: 1");
  const ClusterSpec one = read_cluster(parse_yaml(text, "one.yaml"));
  CHECK(one.pcie.tree.size() == 1);
  CHECK(one == again(one));
}

TEST_CASE("quantities are written exactly, in the unit of people where that is exact") {
  CHECK(exact_text(Bandwidth{25e9}) == "25 GB/s");
  CHECK(exact_text(Bytes{40LL << 30}) == "40 GiB");
  CHECK(exact_text(Bytes{0}) == "0 B");
  CHECK(exact_text(Bytes{1'000'000'001}) == "1000000001 B");
  CHECK(exact_text(Seconds{0}) == "0 s");
  CHECK(exact_text(Seconds{20e-6}) == "20 us");
  CHECK(exact_text(Flops{19.5e12}) == "19.5 TFLOP/s");
  for (const double value : {1.0 / 3, 0.1 + 0.2, 1e-9 / 7, 12345.678901234567}) {
    CAPTURE(value);
    CHECK(parse_seconds(exact_text(Seconds{value}), {"t"}).value == value);
    CHECK(parse_bandwidth(exact_text(Bandwidth{1e9 * value}), {"t"}).bytes_per_second == 1e9 * value);
  }
}

}  // namespace shardsim::write_cluster_test
