// TorchRec's planner on NVIDIA's largest synthetic models: tens of thousands of proposals that differ in one table. A
// proposal must not cost a placement of the whole model each.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "base/tree/yaml.h"
#include "plan/torchrec/bridge/planner_request.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

torchrec::PlannerRequest request_for(const std::string& workload, const std::string& yaml) {
  const Tree options = parse_yaml(yaml, "bench");
  MapReader reader(options, "planner");
  const Cluster cluster(
      read_cluster(merged(load_named("dgx_a100_80gb", "clusters", "", {}), parse_yaml("nodes: 16", "bench"))));
  const Workload model = read_workload(
      merged(load_named(workload, "workloads", "", {}), parse_yaml("optimizer: {name: rowwise_adagrad}", "bench")), "");
  return torchrec::planner_request(torchrec::read_planner_options(reader), model, cluster);
}

// Under 2 s and 200 MB each.
void search(benchmark::State& state, const std::string& workload, const std::string& yaml) {
  const torchrec::PlannerRequest request = request_for(workload, yaml);
  torchrec::RunResult run;
  for (auto _ : state) run = torchrec::run_planner(request.tables, request.settings);
  state.counters["tables"] = static_cast<double>(request.tables.size());
  state.counters["proposals"] = run.num_proposals;
  state.counters["found"] = run.found ? 1 : 0;
  state.counters["peak_MB"] = peak_megabytes();
}

BENCHMARK_CAPTURE(search, jumbo_128_ranks, "nv_jumbo", "{}")->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(search, colossal_device_memory, "nv_colossal", R"({constraints: {"*": {compute_kernels: [fused]}}})")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(
    search, colossal_host_memory, "nv_colossal",
    R"({constraints: {"*": {sharding_types: [row_wise], compute_kernels: [fused, fused_uvm, fused_uvm_caching]}}})")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(search, colossal_all_kernels, "nv_colossal", "{}")->Unit(benchmark::kMillisecond)->Iterations(1);

// Under 1 us: one table, one sharding type, one kernel.
void estimate(benchmark::State& state, torchrec::ShardingType type) {
  const torchrec::PlannerRequest request = request_for("nv_jumbo", "{}");
  const torchrec::TableSpec& table = request.tables[request.tables.size() / 2].table;
  for (auto _ : state) {
    benchmark::DoNotOptimize(torchrec::estimate_option(table, 0, type, torchrec::ComputeKernel::fused,
                                                       request.settings.topology, request.settings.estimate));
  }
}

BENCHMARK_CAPTURE(estimate, table_wise, torchrec::ShardingType::table_wise);
BENCHMARK_CAPTURE(estimate, row_wise, torchrec::ShardingType::row_wise);
BENCHMARK_CAPTURE(estimate, table_row_wise, torchrec::ShardingType::table_row_wise);

}  // namespace
}  // namespace shardsim
