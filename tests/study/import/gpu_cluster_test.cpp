#include "study/import/gpu_cluster.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "tests/topology/cluster_files.h"
#include "topology/spec/gpu_models.h"

namespace shardsim::gpu_cluster_test {
namespace {

constexpr std::int64_t kGb = 1'000'000'000;

struct Printed {
  const char* name;
  std::int64_t gb;
  const char* cluster;
};

TEST_CASE("the name and the memory of a GPU choose a cluster of its model and form") {
  for (const auto& [name, gb, cluster] :
       {Printed{"NVIDIA A100-SXM4-80GB", 85, "dgx_a100_80gb"}, Printed{"NVIDIA A100 80GB PCIe", 85, "pcie_a100_8x"},
        Printed{"NVIDIA A100-PG509-200", 42, "dgx_a100_40gb"}, Printed{"NVIDIA H100 PCIe", 85, "pcie_h100_8x"},
        Printed{"NVIDIA H100 80GB HBM3", 85, "dgx_h100"}, Printed{"NVIDIA H200", 150, "dgx_h200"},
        Printed{"NVIDIA H200 NVL", 150, "h200_nvl_4x"}, Printed{"Tesla V100-SXM2-16GB", 17, "v100_8x_one_port"},
        Printed{"Tesla V100-SXM2-32GB", 34, "dgx1_v100"}, Printed{"Tesla V100-SXM3-32GB", 34, "dgx2h_v100"},
        Printed{"NVIDIA L40S", 48, "pcie_l40s_8x"}, Printed{"NVIDIA A40", 48, "pcie_a40_8x"},
        Printed{"NVIDIA A30", 25, "pcie_a30_8x"}, Printed{"NVIDIA B300 SXM6 AC", 288, "hgx_b300_8x800g"},
        Printed{"NVIDIA GB300", 288, "gb300_nvl72"}, Printed{"NVIDIA GB200", 198, "gb200_nvl72"}}) {
    CAPTURE(name);
    const auto found = gpu_cluster(name, gb * kGb);
    REQUIRE(found.has_value());
    CHECK(found->cluster == cluster);
    CHECK(found->keys.empty());
    CHECK(found->said.empty());
  }
}

TEST_CASE("a GPU that no cluster has in its form is none, however alike its name is") {
  for (const char* const name :
       {"NVIDIA H100 NVL", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA H800", "NVIDIA A800-SXM4-80GB", "NVIDIA L4",
        "Tesla T4", "Tesla V100-PCIE-16GB", "NVIDIA RTX 6000 Ada Generation", "Some GPU", ""}) {
    CAPTURE(name);
    CHECK_FALSE(gpu_cluster(name, 0).has_value());
  }
}

TEST_CASE("where the memory alone differs, the cluster gets the GPU's own, which is said") {
  const auto smaller = gpu_cluster("NVIDIA A100-PCIE-40GB", 42 * kGb);
  REQUIRE(smaller.has_value());
  CHECK(smaller->cluster == "pcie_a100_8x");
  CHECK(smaller->keys == std::vector<std::pair<std::string, std::string>>{
                             {"model", "A100-PCIE-40GB"}, {"hbm", "40 GiB"}, {"hbm_bandwidth", "1555 GB/s"}});
  CHECK(has(smaller->said, "whose memory is another one"));
  const auto contradicts = gpu_cluster("NVIDIA A100-SXM4-80GB", 42 * kGb);
  REQUIRE(contradicts.has_value());
  CHECK(contradicts->keys == std::vector<std::pair<std::string, std::string>>{{"hbm", "40054 MiB"}});
  CHECK(has(contradicts->said, "the trace is believed"));
}

TEST_CASE("each shipped GPU of the catalogue has a cluster, and that cluster has the GPU") {
  int known = 0;
  for (const auto& entry : std::filesystem::directory_iterator(testing::cluster_file(""))) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string model = read_cluster(testing::shipped_tree(entry.path().filename().string())).gpu.model;
    if (known_gpu_model(model) == nullptr) continue;
    CAPTURE(model);
    ++known;
    const std::string cluster(cluster_of_model(model));
    REQUIRE_FALSE(cluster.empty());
    CHECK(testing::shipped(cluster).gpu.model == model);
  }
  CHECK(known > 30);
}

}  // namespace
}  // namespace shardsim::gpu_cluster_test
