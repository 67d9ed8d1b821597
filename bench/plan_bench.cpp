// A plan must cost the same whatever the number of rows: planners work on the closed form of the access distribution.
#include <benchmark/benchmark.h>

#include "base/tree/map_reader.h"
#include "base/tree/yaml.h"
#include "plan/planner.h"
#include "sim/scenario/scenario.h"

namespace shardsim {
namespace {

Workload shipped_workload(const std::string& name) {
  return read_workload(load_named(name, "workloads", "", {}), "");
}

void plan_with(benchmark::State& state, const std::string& workload_name, const std::string& options) {
  const Cluster cluster(read_cluster(load_named("a100_mesh_4x8", "clusters", "", {})));
  const Workload workload = shipped_workload(workload_name);
  const auto memory = make_memory_model(parse_yaml("name: paper", "bench"));
  const auto planner = make_planner(parse_yaml(options, "bench"));
  for (auto _ : state) benchmark::DoNotOptimize(planner->plan(workload, cluster, {*memory, 1, {}}));
  state.counters["rows"] = static_cast<double>(workload.tables[0].rows);
}

BENCHMARK_CAPTURE(plan_with, two_tier_30m_rows, "rm1", "name: flexshard_2tier")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(plan_with, three_tier_30m_rows, "rm1", "name: flexshard_3tier")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(plan_with, optimal_30m_rows, "rm1", "{name: flexshard_3tier, cut: optimal}")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(plan_with, three_tier_1e10_rows, "huge_1e10", "name: flexshard_3tier")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace shardsim
