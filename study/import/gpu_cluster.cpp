#include "study/import/gpu_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/units.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {
namespace {

// Among clusters with the same GPU this is the one that most have: the vendor's own server, where one is shipped.
struct UsualCluster {
  std::string_view model, cluster;
  std::string_view instead_of = {};  // the model that the cluster has, where that differs in its memory alone
};
constexpr std::array<UsualCluster, 21> kUsualClusters = {{{"V100-SXM2-16GB", "v100_8x_one_port"},
                                                          {"V100-SXM2-32GB", "dgx1_v100"},
                                                          {"V100-SXM3-32GB", "dgx2h_v100"},
                                                          {"A100-SXM4-40GB", "dgx_a100_40gb"},
                                                          {"A100-SXM4-80GB", "dgx_a100_80gb"},
                                                          {"A100-PCIE-40GB", "pcie_a100_8x", "A100-PCIE-80GB"},
                                                          {"A100-PCIE-80GB", "pcie_a100_8x"},
                                                          {"A30", "pcie_a30_8x"},
                                                          {"A40", "pcie_a40_8x"},
                                                          {"L40", "pcie_l40_8x"},
                                                          {"L40S", "pcie_l40s_8x"},
                                                          {"RTX-6000D", "pcie_rtx6000d"},
                                                          {"H100-SXM5-80GB", "dgx_h100"},
                                                          {"H100-PCIE-80GB", "pcie_h100_8x"},
                                                          {"H200-SXM5-141GB", "dgx_h200"},
                                                          {"H200-NVL-141GB", "h200_nvl_4x"},
                                                          {"GH200-96GB", "cscs_alps_gh200"},
                                                          {"B200-SXM-180GB", "hgx_b200_8x400g"},
                                                          {"B300-SXM-288GB", "hgx_b300_8x800g"},
                                                          {"GB200-186GB", "gb200_nvl72"},
                                                          {"GB300-288GB", "gb300_nvl72"}}};

const UsualCluster* usual_of(std::string_view model) {
  const auto* found = std::ranges::find(kUsualClusters, model, &UsualCluster::model);
  return found == kUsualClusters.end() ? nullptr : found;
}

// A program sees a little less than the data sheet says: the driver and the check bits take their part.
bool is_memory_of(const GpuModel& model, std::int64_t memory) {
  constexpr double kDriversShare = 0.1;
  const Bytes stated = parse_bytes(model.hbm, Place{"catalogue of GPUs"});
  return std::abs(static_cast<double>(memory) / static_cast<double>(stated.count) - 1) <= kDriversShare;
}

}  // namespace

std::string_view cluster_of_model(std::string_view model) {
  const UsualCluster* const usual = usual_of(model);
  return usual == nullptr ? std::string_view() : usual->cluster;
}

std::optional<GpuCluster> gpu_cluster(const std::string& printed, std::int64_t memory) {
  const GpuModel* const model = known_gpu_model(printed);
  const UsualCluster* const usual = model == nullptr ? nullptr : usual_of(model->name);
  if (usual == nullptr) return std::nullopt;
  GpuCluster found{std::string(usual->cluster), std::string(model->name), {}, ""};
  if (!usual->instead_of.empty()) {
    found.keys = {
        {"model", found.gpu}, {"hbm", std::string(model->hbm)}, {"hbm_bandwidth", std::string(model->hbm_bandwidth)}};
    found.said = fmt::format("That cluster has {}, whose memory is another one: it is taken with the GPU's own.",
                             usual->instead_of);
  }
  if (memory <= 0 || is_memory_of(*model, memory)) return found;
  std::erase_if(found.keys, [](const auto& key) { return key.first == "hbm"; });
  found.keys.emplace_back("hbm", fmt::format("{} MiB", memory / kMiB));
  found.said = fmt::format("The trace says that the GPU has {} of memory, and {} has {}: the trace is believed.",
                           to_text(Bytes{memory}), found.gpu, model->hbm);
  return found;
}

}  // namespace shardsim
