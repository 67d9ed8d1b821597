#include "topology/spec/gpu_cut.h"

#include <doctest/doctest.h>

#include "base/tree/tree_editor.h"
#include "base/tree/yaml.h"
#include "tests/topology/cluster_files.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim::gpu_cut_test {

using namespace shardsim::testing;

// A DGX-1-like node: 8 GPUs, 4 NICs that two share, a mesh, switches.
std::string node_of_eight() {
  return least_cluster(8) +
         "nics: {shared_by: 2, rate: 100 Gbit/s}\n"
         "nvlink: {kind: mesh, links_per_gpu: 6, links: [[0, 1, 1], [0, 2, 2], [1, 3, 2], [2, 3, 1], [0, 4, 1], [4, 5, "
         "1]]}\n"
         "pcie:\n  tree:\n"
         "    - {switch: top0, parent: 0, gpus: [], nics: []}\n"
         "    - {switch: s0, parent: top0, gpus: [0, 1], nics: [0]}\n"
         "    - {switch: s1, parent: top0, gpus: [2, 3], nics: [1]}\n"
         "    - {switch: top1, parent: 1, gpus: [], nics: []}\n"
         "    - {switch: s2, parent: top1, gpus: [4, 5], nics: [2]}\n"
         "    - {switch: s3, parent: top1, gpus: [6, 7], nics: [3]}\n"
         "faults: [{node: 0, gpu: 6, compute_factor: 0.5}, {node: 0, gpu: 1, compute_factor: 0.5}]\n";
}

ClusterSpec with_gpus(const std::string& file, const std::string& count) {
  Tree tree = parse_yaml(file, "test.yaml");
  set_path(tree, "gpu.count", parse_yaml_value(count, {"argument --set gpu.count"}));
  return read_cluster(tree);
}

TEST_CASE("a node cut to fewer GPUs keeps what these have") {
  const ClusterSpec whole = spec_of(node_of_eight());
  REQUIRE(whole.pcie.tree.size() == 6);
  CHECK(whole.places.gone.empty());
  const ClusterSpec cut = with_gpus(node_of_eight(), "4");
  CHECK(cut.gpu.count == 4);
  CHECK(nics_of_node(cut) == 2);
  REQUIRE(cut.pcie.tree.size() == 3);
  CHECK(cut.pcie.tree[0].name == "top0");
  CHECK(cut.pcie.tree[2].gpus == std::vector<int>{2, 3});
  CHECK(cut.nvlink.pairs.size() == 4);
  CHECK(cut.faults.size() == 1);
  CHECK(cut.places.gone == std::vector<std::string>{"4 GPUs", "2 NICs", "3 PCIe switches",
                                                    "the NVLinks between 2 pairs of GPUs", "1 fault of a GPU"});
}

TEST_CASE("what a node counts and does not list is named, too") {
  const auto gone = [](const std::string& nics, const std::string& count) {
    return with_gpus(least_cluster(8) + nics, count).places.gone;
  };
  CHECK(gone("nics: {per_gpu: 1, rate: 400 Gbit/s}\n", "4") == std::vector<std::string>{"4 GPUs", "4 NICs"});
  CHECK(gone("nics: {shared_by: 2, rate: 100 Gbit/s}\n", "2") == std::vector<std::string>{"6 GPUs", "3 NICs"});
  CHECK(gone("nics: {shared_by: 4, rate: 100 Gbit/s}\n", "1") == std::vector<std::string>{"7 GPUs", "1 NIC"});
  CHECK(gone("nics: {per_node: 2, rate: 100 Gbit/s}\n", "4").empty());
  CHECK(gone("", "4").empty());
  CHECK(gone("nics: {per_gpu: 1, rate: 400 Gbit/s}\n", "8").empty());
}

TEST_CASE("one GPU has no NVLinks, and a NIC for itself") {
  const ClusterSpec cut = with_gpus(node_of_eight(), "1");
  CHECK(cut.nvlink.kind == NvlinkKind::none);
  CHECK(nics_of_node(cut) == 1);
  CHECK(cut.pcie.tree.size() == 2);
}

TEST_CASE("NICs of the node itself stay, but for those beside GPUs that go") {
  std::string file = node_of_eight();
  file.replace(file.find("shared_by: 2"), 12, "per_node: 4");
  const ClusterSpec cut = with_gpus(file, "3");
  CHECK(nics_of_node(cut) == 2);
  CHECK(cut.pcie.tree[2].gpus == std::vector<int>{2});
  CHECK(cut.pcie.tree[2].nics == std::vector<int>{1});
}

TEST_CASE("devices that the PCIe tree of a base does not have are at fault, and not the base") {
  Tree tree = parse_yaml(node_of_eight(), "test.yaml");
  set_path(tree, "nics", parse_yaml_value("{per_node: 5, rate: 100 Gbit/s}", {"argument --set nics"}));
  const std::string error = error_of([&] { read_cluster(tree); });
  CAPTURE(error);
  CHECK(error.starts_with("argument --set nics: NIC 4 of 5 is not in the PCIe tree, which test.yaml:"));
  CHECK(error.find("Write pcie: {tree: [...]} beside `nics`") != std::string::npos);
  CHECK(error_of([&] { with_gpus(node_of_eight(), "12"); }).starts_with("argument --set gpu.count: GPU 8 is not in"));
}

TEST_CASE("what a file itself says of GPUs that it does not have is a mistake") {
  std::string file = node_of_eight();
  file.replace(file.find("count: 8"), 8, "count: 4");
  CHECK(error_of([&] { spec_of(file); }).find("GPU 4 does not exist") != std::string::npos);
  CHECK(error_of([&] { with_gpus(node_of_eight(), "3"); }).find("cannot be divided") != std::string::npos);
  CHECK(error_of([&] { with_gpus(node_of_eight(), "9"); }).find("GPU 8 is not in the PCIe tree") != std::string::npos);
}

}  // namespace shardsim::gpu_cut_test
