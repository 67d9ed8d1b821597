#include <doctest/doctest.h>

#include "base/tree/tree_editor.h"
#include "tests/topology/cluster_files.h"

namespace shardsim::bad_cluster_test {

using namespace shardsim::testing;

namespace {

// Line 4 is the first after the required keys.
std::string error_below(const std::string& more, int gpus = 4) {
  return error_of([&] { Cluster cluster(spec_of(least_cluster(gpus) + more)); });
}

std::string error_in_gpu(const std::string& keys) {
  return error_of([&] {
    spec_of(
        "schema: shardsim.cluster/1\nname: t\ngpu:\n  {model: x, count: 2, compute_capability: \"8.0\", hbm: 1 "
        "GiB, hbm_bandwidth: 1 GB/s, flops: 1 TFLOP/s,\n   " +
        keys + "}\n");
  });
}

bool says(const std::string& message, const std::string& line, const std::string& what) {
  const bool found = message.starts_with("test.yaml:" + line + ":") && message.find(what) != std::string::npos &&
                     message.find('\n') == std::string::npos;
  if (!found) MESSAGE("message: ", message);
  return found;
}

}  // namespace

TEST_CASE("a mesh that no machine has is refused at its line") {
  const auto mesh = [](const std::string& links) {
    return error_below("nvlink:\n  kind: mesh\n  links_per_gpu: 6\n  links:\n" + links);
  };
  CHECK(says(mesh("    - [0, 1, 4]\n    - [0, 2, 3]\n"), "9", "GPU 0 has 7 NVLinks in the mesh"));
  CHECK(says(mesh("    - [0, 1, 1]\n    - [0, 1, 1]\n"), "9", "GPUs 0 and 1 are linked twice"));
  CHECK(says(mesh("    - [1, 1, 1]\n"), "8", "[1, 1]"));
  CHECK(says(mesh("    - [2, 1, 1]\n"), "8", "lower to a higher"));
  CHECK(says(mesh("    - [0, 4, 1]\n"), "8", "GPU 4 does not exist"));
  CHECK(says(mesh("    - [0, 1]\n"), "8", "three numbers"));
  CHECK(says(mesh("    - [0, 1, 0]\n"), "8", "a pair without NVLinks is left out"));
  CHECK(says(mesh("    - [0, -1, 1]\n"), "8", "-1"));
  CHECK(says(error_below("nvlink: {kind: mesh, links_per_gpu: 6, links: []}\n"), "4", "without links"));
  CHECK(says(error_below("nvlink: {kind: mesh, links_per_gpu: 6}\n"), "4", "links"));
  CHECK(says(error_below("nvlink: {kind: switch, links_per_gpu: 6, links: [[0, 1, 1]]}\n"), "4", "kind: mesh"));
  CHECK(says(error_below("nvlink: {kind: switch}\n"), "4", "links_per_gpu"));
  CHECK(says(error_below("nvlink: {kind: ring}\n"), "4", "ring"));
}

TEST_CASE("GPUs that are not connected are refused and two of them named") {
  const std::string line_of_four = "links: [[0, 1, 1], [1, 2, 1], [2, 3, 1]]}\npcie: {p2p: false}\n";
  CHECK(says(error_below("nvlink: {kind: mesh, links_per_gpu: 6, " + line_of_four), "4",
             "GPUs 0 and 3 are not connected"));
  CHECK(says(error_below("nvlink: {kind: mesh, relay: none, links_per_gpu: 6, " + line_of_four), "4",
             "GPUs 0 and 2 are not connected"));
}

TEST_CASE("NICs are laid out in exactly one way") {
  CHECK(says(error_below("nics: {rate: 100 Gbit/s}\n"), "4", "0 of per_gpu, shared_by and per_node"));
  CHECK(says(error_below("nics: {per_gpu: 1, per_node: 1, rate: 100 Gbit/s}\n"), "4", "2 of per_gpu"));
  CHECK(says(error_below("nics: {shared_by: 3, rate: 100 Gbit/s}\n"), "4", "cannot be divided into groups of 3"));
  CHECK(says(error_below("nics: {per_gpu: 1}\n"), "4", "nics.rate"));
  CHECK(says(error_below("nics: {per_gpu: 1, rate: 25}\n"), "4", "nics.rate"));
  CHECK(says(error_below("nodes: 2\n"), "4", "2 nodes but no NICs"));
  CHECK(says(error_below("nodes: 2\npcie: {tree: [{switch: s0, parent: 0, gpus: [0, 1, 2, 3]}]}\n"), "4",
             "under the switches of pcie.tree"));
}

TEST_CASE("a PCIe tree names every device once, below something that exists") {
  const auto tree = [](const std::string& entries) {
    return error_below("nics: {shared_by: 2, rate: 100 Gbit/s}\npcie:\n  tree:\n" + entries);
  };
  const std::string s0 = "    - {switch: s0, parent: 0, gpus: [0, 1], nics: [0]}\n";
  CHECK(tree(s0 + "    - {switch: s1, parent: s0, gpus: [2, 3], nics: [1]}\n").empty());
  CHECK(says(tree(s0 + "    - {switch: s1, parent: 1, gpus: [2], nics: [1]}\n"), "7", "GPU 3 is not in the PCIe tree"));
  CHECK(says(tree(s0 + "    - {switch: s1, parent: 1, gpus: [2, 3]}\n"), "7", "NIC 1 of 2 is not in the PCIe tree"));
  CHECK(says(tree(s0 + "    - {switch: s1, parent: 1, gpus: [1, 2, 3], nics: [1]}\n"), "8", "GPU 1 is twice"));
  CHECK(says(tree(s0 + "    - {switch: s1, parent: 1, gpus: [2, 3], nics: [0, 1]}\n"), "8", "NIC 0 is twice"));
  CHECK(says(tree(s0 + "    - {switch: s1, parent: s9, gpus: [2, 3], nics: [1]}\n"), "8", "'s9' is neither"));
  CHECK(says(tree(s0 + "    - {switch: s1, parent: s1, gpus: [2, 3], nics: [1]}\n"), "8", "'s1' is neither"));
  CHECK(says(tree(s0 + "    - {switch: s1, parent: 2, gpus: [2, 3], nics: [1]}\n"), "8", "'2' is neither"));
  CHECK(says(tree(s0 + "    - {switch: s0, parent: 1, gpus: [2, 3], nics: [1]}\n"), "8", "'s0' is taken"));
  CHECK(says(tree(s0 + "    - {switch: s1, parent: 1, gpus: [2, 4], nics: [1]}\n"), "8", "GPU 4 does not exist"));
  CHECK(says(tree(s0 + "    - {switch: s1, parent: 1, gpus: [2, 3], nics: [2]}\n"), "8", "NIC 2 does not exist"));
}

TEST_CASE("sizes out of reason are refused") {
  CHECK(says(error_below("nodes: 100000\nnics: {per_gpu: 1, rate: 100 Gbit/s}\n"), "4", "400000 ranks"));
  CHECK(says(error_below("nodes: 9007199254740993\n"), "4", "nodes"));
  CHECK(says(error_below("nodes: 0\n"), "4", "nodes"));
  CHECK(says(error_below("", 1000), "3", "count: \"1000\" is above"));
  CHECK(says(error_below("pcie: {lanes: 12}\n"), "4", "pcie.lanes: \"12\" is not known here"));
  CHECK(says(error_below("pcie: {generation: 2}\n"), "4", "pcie.generation"));
  CHECK(says(error_below("fabric: {kind: fat_tree, oversubscription: 0.5}\n"), "4", "oversubscription"));
  CHECK(says(error_below("fabric: {oversubscription: 2}\n"), "4", "non-blocking"));
  CHECK(says(error_below("fabric: {kind: fat_tree, oversubscription: 2}\n"), "4", "all nodes are under one leaf"));
  CHECK(says(error_below("nccl: \"2.15\"\n"), "4", "2.15"));
}

TEST_CASE("what only a mesh has is refused beside a switch, but for what a base said of its mesh") {
  const std::string node = "nvlink: {kind: switch, links_per_gpu: 12, ";
  CHECK(says(error_below(node + "relay: balanced}\n"), "4", "has a meaning only with kind: mesh"));
  CHECK(says(error_below(node + "nvb_efficiency: 0.5}\n"), "4", "nvlink.nvb_efficiency"));
  CHECK(says(error_below("nvlink: {nvb_efficiency: 0.5}\n"), "4", "has a meaning only with kind: mesh"));
  CHECK(error_below(node + "relay: widest, nvb_efficiency: 0.75}\n").empty());
  Tree tree = shipped_tree("a100_mesh_4x8.yaml");
  set_path(tree, "nvlink.kind", parse_yaml_value("switch", {"test"}));
  set_path(tree, "nvlink.links", parse_yaml_value("[]", {"test"}));
  set_path(tree, "graph.one_node", parse_yaml_value("search", {"test"}));
  set_path(tree, "graph.multi_node", parse_yaml_value("search", {"test"}));
  CHECK(read_cluster(tree).nvlink.nvb_efficiency == NvlinkSpec{}.nvb_efficiency);
  set_path(tree, "nvlink.relay", parse_yaml_value("balanced", {"test"}));
  CHECK(error_of([&] { read_cluster(tree); }).find("has a meaning only with kind: mesh") != std::string::npos);
}

TEST_CASE("constants that a kind does not have are refused") {
  const auto reach = [](const std::string& text) { return error_below("overheads: {" + text + "}\n"); };
  CHECK(says(reach("all_to_all: {in_node: {latency_share: 0.5}}"), "4", "NCCL's cost model does not time it"));
  CHECK(says(reach("send_recv: {across_nodes: {plateau: false}}"), "4", "for all_reduce across nodes alone"));
  CHECK(says(reach("all_reduce: {in_node: {plateau: false}}"), "4", "for all_reduce across nodes alone"));
  CHECK(says(reach("all_to_all: {in_node: {per_remote_peer: 1 us}}"), "4", "no peers on other nodes"));
  CHECK(says(reach("all_to_all: {in_node: {nvls_fill: 4 us}}"), "4", "NCCL does not run NVLS for it"));
  CHECK(reach("all_reduce: {across_nodes: {nvls_fill: 4 us}}").empty());
  CHECK(reach("all_reduce: {across_nodes: {plateau: false, latency_share: 0.5, per_remote_peer: 1 us}}").empty());
}

TEST_CASE("a GPU must have memory, rates and a capability that exists") {
  CHECK(error_in_gpu("reserved: 10 %").empty());
  CHECK(says(error_in_gpu("reserved: 2 GiB"), "5", "reserved"));
  CHECK(says(error_in_gpu("overlap_slowdown: 1"), "5", "slowdown"));
  CHECK(says(error_in_gpu("stream_sharing: -0.1"), "5", "stream_sharing"));
  CHECK(error_in_gpu("stream_sharing: 0.5").empty());
  CHECK(says(error_in_gpu("lookups_per_ns: -1"), "5", "lookups"));
  CHECK(says(error_in_gpu("sm_count: 0"), "5", "sm_count"));
  CHECK(says(error_in_gpu("copy_bandwidth: -5 GB/s"), "5", "copy_bandwidth"));
  CHECK(says(error_in_gpu("flops_efficiency: 0"), "5", "flops_efficiency"));
  CHECK(says(error_in_gpu("cheese: 1"), "5", "cheese"));
  CHECK(says(error_in_gpu("inplace_update_efficiency: [{table_bytes: 2 GB, efficiency: 1}]"), "5",
             "inplace_update_efficiency would have no effect"));
  const auto gpu = [](const std::string& capability, const std::string& hbm, const std::string& more) {
    return error_of([&] {
      spec_of("schema: shardsim.cluster/1\nname: t\n" + more + "gpu: {model: x, count: 2, compute_capability: " +
              capability + ", hbm: " + hbm + ", hbm_bandwidth: 1 GB/s, flops: {fp32: 1 TFLOP/s}}\n");
    });
  };
  CHECK(says(gpu("\"0.0\"", "1 GiB", ""), "3", "CPU ranks"));
  CHECK(gpu("\"0.0\"", "1 GiB", "device: cpu\n").empty());
  CHECK(says(gpu("8.123", "1 GiB", ""), "3", "no compute capability"));
  CHECK(says(gpu("\"8.x\"", "1 GiB", ""), "3", "no compute capability"));
  CHECK(says(gpu("\"8.0\"", "0 B", ""), "3", "gpu.hbm: \"0 B\" is below 1"));
}

TEST_CASE("rings visit every GPU once") {
  const auto rings = [](const std::string& list) {
    return error_below("graph:\n  one_node:\n    {channels: 2, bw_intra: 20 GB/s,\n     rings: " + list + "}\n");
  };
  CHECK(rings("[[0, 2, 1, 3], [3, 2, 1, 0]]").empty());
  CHECK(says(rings("[[0, 1, 2]]"), "7", "every GPU once"));
  CHECK(says(rings("[[0, 1, 2, 2]]"), "7", "every GPU once"));
  CHECK(says(rings("[[0, 1, 2, 4]]"), "7", "GPU 4 does not exist"));
  CHECK(says(rings("[[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]]"), "7", "3 rings for 2 channels"));
}

TEST_CASE("rings that change NICs are refused, not read past") {
  CHECK(says(error_below("graph: {cross_nic: true}\n"), "4", "NCCL_CROSS_NIC"));
  CHECK(error_below("graph: {cross_nic: false}\n").empty());
}

TEST_CASE("SHARP is InfiniBand's") {
  const std::string nics =
      "nics: {per_gpu: 1, rate: 1 GB/s, transport: roce}\nnvlink: {kind: switch, links_per_gpu: 6}\n";
  CHECK(says(error_below(nics + "fabric: {sharp: true}\n"), "6", "only InfiniBand switches have SHARP"));
  CHECK(error_below(nics + "fabric: {sharp: false}\n").empty());
}

TEST_CASE("faults lie inside the cluster and have an effect") {
  const auto fault = [](const std::string& entry) {
    return error_below("nics: {per_gpu: 1, rate: 100 Gbit/s}\nfaults:\n  - " + entry + "\n");
  };
  CHECK(fault("{node: 0, nic: 3, rate_factor: 0.5}").empty());
  CHECK(says(fault("{node: 1, nic: 0, rate_factor: 0.5}"), "6", "fault on node 1"));
  CHECK(says(fault("{node: 0, nic: 4, rate_factor: 0.5}"), "6", "fault on NIC 4"));
  CHECK(says(fault("{node: 0, gpu: 4, compute_factor: 0.5}"), "6", "fault on GPU 4"));
  CHECK(says(fault("{node: 0, gpu: 1, rate_factor: 0.5}"), "6", "no NVLink ports"));
  CHECK(says(fault("{node: 0, nic: 1, rate_factor: 0}"), "6", "rate_factor"));
  CHECK(says(fault("{node: 0, nic: 1, rate_factor: 1.5}"), "6", "rate_factor"));
  CHECK(says(fault("{node: 0, nic: 1}"), "6", "states no effect"));
  CHECK(says(fault("{node: 0, rate_factor: 0.5}"), "6", "one GPU or one NIC"));
  CHECK(says(fault("{node: 0, nic: 0, gpu: 0, rate_factor: 0.5}"), "6", "one GPU or one NIC"));
  CHECK(says(fault("{node: 0, nic: 0, compute_factor: 0.5}"), "6", "has no meaning for a NIC"));
}

TEST_CASE("unknown keys and wrong kinds are refused everywhere") {
  for (const char* map : {"host", "nvlink", "pcie", "fabric", "graph", "p2p", "overheads"}) {
    CAPTURE(map);
    CHECK(says(error_below(std::string(map) + ": {cheese: 1}\n"), "4", "cheese"));
    CHECK(says(error_below(std::string(map) + ": [1]\n"), "4", "a map is expected"));
  }
  CHECK(says(error_below("cheese: 1\n"), "4", "cheese"));
  CHECK(says(error_below("overheads: {all_to_all: {in_node: {nic_efficiency: 0.5}}}\n"), "4", "nic_efficiency"));
  CHECK(says(error_below("faults: 3\n"), "4", "a list is expected"));
  CHECK(says(error_below("schemas: 3\n"), "4", "schemas"));
  CHECK(says(error_of([] { spec_of("schema: shardsim.workload/1\nname: t\n"); }), "1", "shardsim.workload/1"));
  CHECK(says(error_of([] { spec_of("schema: shardsim.cluster/1\nname: t\n"); }), "1", "gpu"));
}

}  // namespace shardsim::bad_cluster_test
