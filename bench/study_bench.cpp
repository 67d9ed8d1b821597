// Whole studies, in worker processes as the command runs them: the FlexShard study, a cross-check of 50 plans, RM-1 on
// 1,024 GPUs.
#include <benchmark/benchmark.h>

#include "bench/peak_memory.h"
#include "study/run/study.h"

namespace shardsim {
namespace {

void study(benchmark::State& state, const std::string& name, const Overrides& overrides, int jobs = 1) {
  const Scenario scenario = read_scenario(std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/" + name, overrides);
  for (auto _ : state) benchmark::DoNotOptimize(run_study(scenario, {jobs, {}, {}}));
  state.counters["cases"] = static_cast<double>(scenario.cases.size());
  state.counters["peak_MB"] = peak_mb_of_workers();
}

BENCHMARK_CAPTURE(study, flexshard_12_cases, "flexshard.yaml", {})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();
// The speedup of two processes over one; the parent's own work limits it.
BENCHMARK_CAPTURE(study, crosscheck_of_50_plans, "torchrec_crosscheck.yaml", {}, 1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(study, crosscheck_of_50_plans_in_two_processes, "torchrec_crosscheck.yaml", {}, 2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(study, rm1_on_1024_gpus, "scale_1024.yaml", {})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();
// One slow NIC makes the nodes differ, so that none can stand for another.
BENCHMARK_CAPTURE(study, rm1_on_1024_gpus_with_a_straggler, "scale_1024.yaml",
                  (Overrides{{{"cluster.faults", "[{node: 5, nic: 2, rate_factor: 0.5}]"}}, {}, {}, {}}))
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();

}  // namespace
}  // namespace shardsim
