#include <doctest/doctest.h>

#include "tests/physics/lab.h"

namespace shardsim::bandwidth_test {

// Twice the bandwidth of anything never lengthens an iteration of the same Program.

using namespace shardsim::physics;

namespace {

// Computes by bytes and FLOP, not by measured times, so that memory and arithmetic count.
constexpr const char* kWorkload = R"(
schema: shardsim.workload/1
name: two_histories
batch_per_gpu: 1024
pipeline: sparse_dist
tables:
  - {name: long, rows: 2000000, dim: 128, kind: sequence, average_length: 200, access: {family: zipf, s: 1.05}}
  - {name: short, rows: 300000, dim: 64, kind: sequence, average_length: 30, access: {family: zipf, s: 0.8}}
dense:
  layers:
    - {name: attention, in: 128, out: 256, per: item}
    - {name: top, in: 1024, out: 1024, repeat: 3}
)";

struct Key {
  std::string name;
  std::function<void(ClusterSpec&)> twice;
};

void twice(Bandwidth& rate) {
  rate.bytes_per_second *= 2;
}

std::vector<Key> keys() {
  return {{"nvlink", [](ClusterSpec& spec) { twice(spec.nvlink.per_link), twice(spec.nvlink.per_link_effective); }},
          {"nics",
           [](ClusterSpec& spec) {
             if (spec.nics) twice(spec.nics->rate);
           }},
          {"hbm",
           [](ClusterSpec& spec) {
             twice(spec.gpu.hbm_bandwidth), twice(spec.gpu.copy_bandwidth), twice(spec.gpu.l2_bandwidth);
           }},
          {"flops",
           [](ClusterSpec& spec) {
             for (auto& [dtype, rate] : spec.gpu.flops) rate = Flops{rate.per_second * 2};
           }},
          {"pcie", [](ClusterSpec& spec) { spec.pcie.generation = std::min(spec.pcie.generation + 1, 6); }},
          {"p2p channel", [](ClusterSpec& spec) { twice(spec.p2p.channel_rate); }},
          {"fabric",
           [](ClusterSpec& spec) { spec.fabric.oversubscription = std::max(1.0, spec.fabric.oversubscription / 2); }}};
}

std::vector<std::pair<std::string, ClusterSpec>> clusters() {
  std::vector<std::pair<std::string, ClusterSpec>> specs;
  for (const std::string file : {"a100_mesh_4x8.yaml", "a100_nvswitch_4x8.yaml", "aws_p4d.yaml", "dgx1_v100.yaml",
                                 "perlmutter_a100.yaml", "toy_2x4.yaml", "hgx_h100_8x400g.yaml"}) {
    specs.emplace_back(file, cluster_spec(file, 4));
  }
  ClusterSpec thin = cluster_spec("a100_nvswitch_4x8.yaml", 4);
  thin.fabric.kind = "fat_tree";
  thin.fabric.nodes_per_leaf = 2;
  thin.fabric.oversubscription = 4;
  specs.emplace_back("fat tree, 4 : 1", thin);
  return specs;
}

}  // namespace

TEST_CASE("doubling any bandwidth never lengthens an iteration, on any cluster and plan") {
  const Workload workload = read_workload(parse_yaml(kWorkload, "workload"), "");
  for (const auto& entry : clusters()) {
    CAPTURE(entry.first);
    const ClusterSpec& spec = entry.second;
    const Cluster cluster(spec);
    for (const std::string& planner : every_planner()) {
      CAPTURE(planner);
      const Program program = lowered(planner, workload, cluster);
      const double before = simulated(program, cluster).iteration_ms;
      for (const Key& key : keys()) {
        CAPTURE(key.name);
        ClusterSpec faster = spec;
        key.twice(faster);
        CHECK(simulated(program, Cluster(faster)).iteration_ms <= before + 1e-6);  // a few bytes of rounding
      }
    }
  }
}

TEST_CASE("doubling the bandwidth that limits an iteration shortens it") {
  Workload workload = read_workload(parse_yaml(kWorkload, "workload"), "");
  // With its splits and lengths, each of which costs this cluster's start, the stream of the world alone sets the pace.
  workload.input_exchange = "ids";
  const ClusterSpec spec = cluster_spec("a100_nvswitch_4x8.yaml");
  const Program program = lowered("{name: row_wise}", workload, Cluster(spec));
  const double before = simulated(program, Cluster(spec)).iteration_ms;
  for (const Key& key : keys()) {
    if (key.name != "nics" && key.name != "hbm" && key.name != "flops") continue;
    CAPTURE(key.name);
    ClusterSpec faster = spec;
    key.twice(faster);
    CHECK(simulated(program, Cluster(faster)).iteration_ms < before * 0.999);
  }
}

}  // namespace shardsim::bandwidth_test
