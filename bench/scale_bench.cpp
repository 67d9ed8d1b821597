// A prediction as clusters grow: lowering, expanding, simulating, the Timeline and the memory profile. Cost must grow
// with the ranks U as U log U at most, where all nodes are alike and where no rank is like another.
#include <benchmark/benchmark.h>

#include "base/tree/yaml.h"
#include "bench/peak_memory.h"
#include "models/compute/compute_model.h"
#include "plan/memory_model.h"
#include "plan/planner.h"
#include "sim/engine/engine.h"
#include "sim/engine/network.h"
#include "sim/lower/lower.h"
#include "sim/memory/memory_profile.h"
#include "study/planning/prepared_case.h"

namespace shardsim {
namespace {

constexpr int kGpusPerNode = 8;
constexpr std::int64_t kGlobalBatch = 65536;  // of NVIDIA's synthetic models

Cluster cluster_named(const char* name, int ranks) {
  ClusterSpec spec = read_cluster(load_named(name, "clusters", "", {}));
  spec.nodes = ranks / kGpusPerNode;
  return Cluster(spec);
}

struct BandwidthHost : PlannerHost {
  BandwidthHost(const Workload& of_workload, const Cluster& of_cluster) : workload(of_workload), cluster(of_cluster) {}
  bool answers(Question question) const override { return question == Question::bandwidths; }
  PlannerBandwidths bandwidths() const override { return simulated_bandwidths(workload, cluster); }
  const Workload& workload;
  const Cluster& cluster;
};

Plan planned(const char* planner, const Workload& workload, const Cluster& cluster) {
  const auto memory = make_memory_model(named_map("paper"));
  const BandwidthHost host(workload, cluster);
  const PlannerContext context{*memory, 7, host};
  return make_planner(parse_yaml(planner, "bench"))->plan(workload, cluster, context);
}

// The work of `shardsim run` with a plan, without its report.
MemoryProfile predicted(const Plan& plan, const Workload& workload, const Cluster& cluster,
                        LoadOptions::RowShares shares, const std::function<void(Program&)>& change) {
  LoweringOptions options{false, true};
  options.load.row_shares = shares;
  Program program = lower(plan, workload, cluster, options);
  if (change) change(program);
  const auto compute = make_compute_model(named_map("roofline"));
  const auto network = make_network(named_map("fair_queues"));
  const SimulationResult result = simulate(program, cluster, *compute, *network, {});
  return memory_profile(program, result.timeline, plan, workload);
}

void measure(benchmark::State& state, const Plan& plan, const Workload& workload, const Cluster& cluster,
             LoadOptions::RowShares shares = LoadOptions::RowShares::real,
             const std::function<void(Program&)>& change = {}) {
  forget_peak();
  for (auto _ : state) benchmark::DoNotOptimize(predicted(plan, workload, cluster, shares, change));
  state.counters["peak_MB"] = peak_mb();
  state.SetComplexityN(state.range(0));
}

Workload workload_named(const char* name) {
  return read_workload(load_named(name, "workloads", "", {}), "");
}

// Even row shares: with real ones the owner of the hottest row is like no other rank.
void alike(benchmark::State& state, const char* planner) {
  const Cluster cluster = cluster_named("a100_mesh_4x8", static_cast<int>(state.range(0)));
  const Workload workload = workload_named("rm1");
  measure(state, planned(planner, workload, cluster), workload, cluster, LoadOptions::RowShares::even);
}
BENCHMARK_CAPTURE(alike, rm1_row_wise, "{name: row_wise}")
    ->RangeMultiplier(4)
    ->Range(1024, 65536)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();
BENCHMARK_CAPTURE(alike, rm1_flexshard_3tier, "{name: flexshard_3tier}")
    ->RangeMultiplier(4)
    ->Range(1024, 65536)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

// Every owner gets another share of the ids and vectors of every rank: bytes that no two nodes have alike.
void share_unevenly(Program& program) {
  for (const Op& op : program.ops) {
    if (op.matrix.empty()) continue;
    ByteMatrix& bytes = program.matrices[static_cast<std::size_t>(op.matrix.index)].bytes;
    if (bytes.kind != ByteMatrix::Kind::even) continue;
    const std::size_t members = program.groups.at(op.group).front().size();
    std::vector<double> shares;
    for (std::size_t i = 0; i < members; ++i) shares.push_back(static_cast<double>(1000 + i * 7919 % members));
    bytes.units = split_by_largest_remainder(bytes.units.front(), shares);
    bytes.kind = ByteMatrix::Kind::by_destination;
  }
}

void uneven(benchmark::State& state) {
  const Cluster cluster = cluster_named("a100_mesh_4x8", static_cast<int>(state.range(0)));
  const Workload workload = workload_named("rm1");
  measure(state, planned("{name: flexshard_3tier}", workload, cluster), workload, cluster, LoadOptions::RowShares::real,
          share_unevenly);
}
BENCHMARK(uneven)
    ->Name("uneven/rm1_flexshard_3tier")
    ->RangeMultiplier(4)
    ->Range(1024, 16384)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

void random_plan(benchmark::State& state) {
  const Cluster cluster = cluster_named("dgx_a100_80gb", static_cast<int>(state.range(0)));
  Workload workload = workload_named("nv_jumbo");
  workload.batch_per_gpu = std::max<std::int64_t>(1, kGlobalBatch / state.range(0));
  const Plan plan = planned("{name: random, max_replicated: 64 MiB}", workload, cluster);
  measure(state, plan, workload, cluster);
}
BENCHMARK(random_plan)
    ->Name("random/nv_jumbo")
    ->RangeMultiplier(4)
    ->Range(1024, 16384)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

}  // namespace
}  // namespace shardsim
