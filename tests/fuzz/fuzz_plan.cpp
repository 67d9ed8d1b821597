// Any bytes as a plan file, for a fixed workload and cluster and on its own: a value or an Error, nothing else.
#include <cstdint>
#include <string_view>

#include "base/tree/json.h"
#include "base/tree/yaml.h"
#include "plan/check.h"
#include "plan/plan_file.h"
#include "tests/fuzz/error_at_most.h"

namespace {

constexpr const char* kCluster = R"(
schema: shardsim.cluster/1
name: fuzz
nodes: 2
gpu: {model: toy, count: 4, compute_capability: "8.0", hbm: "16 GiB", hbm_bandwidth: "1000 GB/s", flops: {fp32: "10 TFLOP/s"}}
nvlink: {kind: switch, links_per_gpu: 1, per_link: "100 GB/s"}
nics: {per_gpu: 1, rate: "80 Gbit/s"}
)";

constexpr const char* kWorkload = R"(
schema: shardsim.workload/1
name: fuzz
batch_per_gpu: 32
tables:
  - {name: history, rows: 8000, dim: 64, kind: sequence, average_length: 20, access: {family: zipf, s: 1.1}}
  - {name: recent, rows: 1000, dim: 128, kind: sequence, average_length: 3}
)";

void read(const shardsim::Tree& tree) {
  static const shardsim::Cluster cluster(shardsim::read_cluster(shardsim::parse_yaml(kCluster, "cluster")));
  static const shardsim::Workload workload = shardsim::read_workload(shardsim::parse_yaml(kWorkload, "workload"), "");
  const shardsim::Plan plan = shardsim::plan_from_tree(tree, workload, cluster);
  shardsim::check_plan(plan, workload, cluster, {"fuzz.json"});
}

using shardsim::fuzz::expect_error_at_most;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  expect_error_at_most([&] { read(shardsim::parse_json(text, "fuzz.json")); });
  expect_error_at_most([&] { shardsim::standalone_plan(shardsim::parse_json(text, "fuzz.json")); });
  return 0;
}
