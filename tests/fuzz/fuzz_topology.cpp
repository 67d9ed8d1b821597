// Any bytes as an NCCL topology and as a matrix of nvidia-smi: a cluster that reads back equal, or an Error.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/tree/yaml.h"
#include "tests/fuzz/error_at_most.h"
#include "topology/graph/cluster.h"
#include "topology/import/node_inventory.h"
#include "topology/spec/cluster_spec.h"

namespace {

constexpr int kGpus = 16;  // more are legal, and slow to build thousands of times

void use(const shardsim::NodeInventory& node, bool is_complete) {
  shardsim::ImportOptions options;
  options.gpu_model_may_be_assumed = is_complete;
  options.pcie_generation = 4;
  shardsim::ClusterSpec spec = shardsim::cluster_of(node, options);
  if (!(shardsim::read_cluster(shardsim::parse_yaml(shardsim::write_cluster(spec), "fuzz.yaml")) == spec)) std::abort();
  if (spec.gpu.count > kGpus) return;
  if (!spec.nics) spec.nodes = 1;
  const shardsim::Cluster cluster(spec);
}

using shardsim::fuzz::expect_error_at_most;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  expect_error_at_most([&] { use(shardsim::read_nccl_xml(text, "fuzz.xml"), true); });
  expect_error_at_most(
      [&] { use(shardsim::read_smi_matrix(text, "fuzz.txt", shardsim::find_gpu_model("A100-SXM4-40GB")), false); });
  return 0;
}
