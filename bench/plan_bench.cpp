// A plan must cost the same whatever the number of rows: planners work on the closed form of the access distribution.
#include <benchmark/benchmark.h>

#include "base/tree/map_reader.h"
#include "base/tree/yaml.h"
#include "plan/planner.h"
#include "study/planning/prepared_case.h"
#include "study/scenario/scenario.h"

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

// As `shardsim plan` makes it: with the simulator as the judge.
void search_plan(benchmark::State& state, const std::string& cluster, const std::string& workload) {
  const Scenario scenario =
      scenario_from_text("schema: shardsim.scenario/1\ntitle: bench\ncluster: {base: dgx_a100_80gb, " + cluster +
                             "}\nworkload: " + workload + "\nmemory_model: {name: torchrec}\nplanner: {name: search}\n",
                         "bench", {});
  const Case& item = scenario.cases.front();
  const Cluster machines = cluster_of(item);
  for (auto _ : state) benchmark::DoNotOptimize(make_plan(item, machines, scenario.seed, {}));
}

BENCHMARK_CAPTURE(search_plan, crosscheck_40_on_32, "nodes: 4", "crosscheck_40")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_plan, nv_medium_on_32, "nodes: 4", "{base: nv_medium, batch_per_gpu: 2048}")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_plan, nv_jumbo_on_128, "nodes: 16", "{base: nv_jumbo, batch_per_gpu: 512}")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan_with, two_tier_30m_rows, "rm1", "name: flexshard_2tier")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(plan_with, three_tier_30m_rows, "rm1", "name: flexshard_3tier")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(plan_with, optimal_30m_rows, "rm1", "{name: flexshard_3tier, cut: optimal}")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(plan_with, three_tier_1e10_rows, "huge_1e10", "name: flexshard_3tier")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace shardsim
