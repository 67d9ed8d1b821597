// `shardsim why` with what would help, in one process as the command runs it: plan, path, and some thirty simulations
// of the changed case.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "study/run/explained_case.h"

namespace shardsim {
namespace {

void why(benchmark::State& state, const std::string& name, const std::string& case_name, bool with_help) {
  const Scenario scenario = read_scenario(std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/" + name, {});
  const auto item = std::ranges::find(scenario.cases, case_name, &Case::name);
  std::size_t simulations = 0;
  for (auto _ : state) {
    const ExplainedCase explained = explained_case(scenario, *item, with_help, {});
    benchmark::DoNotOptimize(explained.why.parts.data());
    if (explained.help) simulations = 2 * explained.help->elasticities.size() + explained.help->supposed.size() + 1;
  }
  state.counters["simulations"] = static_cast<double>(simulations);
}

BENCHMARK_CAPTURE(why, rm1_on_32_gpus, "flexshard.yaml", "rm1/flexshard_3tier", true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(why, rm1_on_32_gpus_path_only, "flexshard.yaml", "rm1/flexshard_3tier", false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(why, rm1_on_1024_gpus, "scale_1024.yaml", "rm1/flexshard_3tier", true)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace shardsim
