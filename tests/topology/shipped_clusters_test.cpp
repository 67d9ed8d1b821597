#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/topology/cluster_files.h"
#include "topology/spec/gpu_models.h"

namespace shardsim::shipped_clusters_test {

using namespace shardsim::testing;

TEST_CASE("every shipped cluster reads, builds, scales and bears its file's name") {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(cluster_file(""))) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().filename().string());
    ClusterSpec spec = read_cluster(shipped_tree(entry.path().filename().string()));
    CHECK(spec.name == entry.path().stem().string());
    CHECK_FALSE(spec.summary.empty());
    names.insert(spec.name);
    const bool one_server = !spec.nics;  // nothing leaves it
    spec.nodes = one_server ? 1 : 16;
    const Cluster cluster(spec);
    CHECK((cluster.route(0, cluster.world_size() - 1).path == PathClass::net) != one_server);
  }
  for (const char* name : {"a100_mesh_4x8", "a100_nvswitch_4x8", "aws_p4d", "dgx1_v100", "dgx_a100_80gb",
                           "hgx_h100_8x400g", "perlmutter_a100", "toy_2x4", "two_tier_8"}) {
    CAPTURE(name);
    CHECK(names.contains(name));
  }
}

// A precision without a rate is refused, whatever the GPU has.
TEST_CASE("shipped clusters have the memory, and rates in the precisions, that the catalogue has of their GPUs") {
  int known = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cluster_file(""))) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().filename().string());
    const ClusterSpec spec = read_cluster(shipped_tree(entry.path().filename().string()));
    const auto model = std::ranges::find(gpu_models(), std::string_view(spec.gpu.model), &GpuModel::name);
    if (model == gpu_models().end()) continue;
    ++known;
    CHECK(spec.gpu.hbm == parse_bytes(std::string(model->hbm), {"catalogue"}));
    for (const char* const precision : {"fp32", "tf32", "fp16", "bf16"})
      CHECK(spec.gpu.flops.contains(precision) ==
            (model->flops.find(std::string(precision) + ":") != std::string_view::npos));
  }
  CHECK(known > 30);
}

TEST_CASE("the names that nvidia-smi prints are understood") {
  const auto name = [](const char* printed) { return std::string(find_gpu_model(printed).name); };
  CHECK(name("NVIDIA H100 NVL") == "H100-NVL-94GB");
  CHECK(name("NVIDIA H100 80GB HBM3") == "H100-SXM5-80GB");
  CHECK(name("NVIDIA H100 PCIe") == "H100-PCIE-80GB");
  CHECK(name("NVIDIA GB200") == "GB200-186GB");
  CHECK(name("NVIDIA GH200 480GB") == "GH200-96GB");
  CHECK(name("NVIDIA A100-SXM4-80GB") == "A100-SXM4-80GB");
  CHECK(name("NVIDIA A100 80GB PCIe") == "A100-PCIE-80GB");
  CHECK(name("Tesla V100-SXM2-32GB") == "V100-SXM2-32GB");
  CHECK(name("NVIDIA GeForce RTX 4090") == "RTX-4090");
  CHECK(name("nvidia l40s") == "L40S");
  CHECK(name("B300") == "B300-SXM-288GB");
  CHECK(name("NVIDIA RTX PRO 6000 Blackwell Server Edition") == "RTX-PRO-6000-SERVER");
  CHECK(error_of([] { find_gpu_model("NVIDIA L40X"); }).find("Did you mean 'L40S'?") != std::string::npos);
  CHECK_FALSE(error_of([] { find_gpu_model("NVIDIA GH200 144G HBM3e"); }).empty());
}

TEST_CASE("a product is what is left of a model without its board and its memory") {
  CHECK(gpu_product_of("A100-SXM4-80GB") == "A100");
  CHECK(gpu_product_of("RTX-PRO-6000-SERVER") == "RTX-PRO-6000");
  CHECK(gpu_product_of("RTX 4090") == "RTX 4090");
  CHECK(gpu_product_of("toy") == "toy");
  CHECK(gpu_product_of("my card") == "my");
}

TEST_CASE("clusters known from public specifications alone say what is open and hold nothing fitted") {
  for (const char* name : {"abci2_a100",
                           "aws_p3dn",
                           "aws_p4d",
                           "aws_p4de",
                           "azure_nd_a100_v4",
                           "coreweave_a100",
                           "cscs_alps_gh200",
                           "dgx1_v100",
                           "dgx_a100_40gb",
                           "dgx_a100_80gb",
                           "dgx_h100",
                           "dgx_h200",
                           "hgx_b200_8x400g",
                           "gcp_a3_high",
                           "gcp_a3_mega",
                           "gcp_a3_ultra",
                           "gcp_a4",
                           "h100_4gpu_4nic",
                           "hgx_h100_8x400g",
                           "oci_bm_gpu4_8",
                           "pcie_rtx6000d",
                           "perlmutter_a100",
                           "polaris_a100",
                           "dgx2h_v100",
                           "gb200_nvl72",
                           "gb300_nvl72",
                           "h200_nvl_4x",
                           "hgx_a100_4gpu",
                           "hgx_a100_8x200g_roce",
                           "hgx_b300_8x800g",
                           "hgx_h100_4gpu",
                           "hgx_h100_8x400g_roce",
                           "pcie_a100_4x",
                           "pcie_a100_8x",
                           "pcie_a30_8x",
                           "pcie_a40_8x",
                           "pcie_h100_4x",
                           "pcie_h100_8x",
                           "pcie_l40_8x",
                           "pcie_l40s_8x",
                           "v100_8x_one_port"}) {
    CAPTURE(name);
    const ClusterSpec spec = shipped(name);
    CHECK_FALSE(spec.open.empty());
    for (const SourcedValue& value : spec.sources) CHECK_FALSE(value.fitted);
  }
}

TEST_CASE("the switched study cluster differs from the meshed one in the wiring alone") {
  ClusterSpec mesh = shipped("a100_mesh_4x8");
  const ClusterSpec switched = shipped("a100_nvswitch_4x8");
  CHECK(switched.nvlink.kind == NvlinkKind::nvswitch);
  CHECK(switched.nvlink.pairs.empty());
  CHECK(switched.nvlink.per_link_effective == mesh.nvlink.per_link_effective);
  CHECK_FALSE(Cluster(switched).has_relays());
  for (const SourcedValue& value : switched.sources) CHECK(value.path != "nvlink.nvb_efficiency");
  mesh.name = switched.name;
  mesh.summary = switched.summary;
  mesh.open = switched.open;
  mesh.nvlink = switched.nvlink;
  mesh.sources = switched.sources;
  CHECK(mesh == switched);
}

}  // namespace shardsim::shipped_clusters_test
