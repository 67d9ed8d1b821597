// Cases of a sweep that keeps its plan, one after the other in one process: the 32-GPU FlexShard case of three tiers at
// every rate of its NICs and every batch, with intervals. Counter `per_s`: simulations a second, the reading of cases
// left out.
#include <benchmark/benchmark.h>

#include "study/planning/prepared_case.h"
#include "study/sweep/kept_plan.h"

namespace shardsim {
namespace {

constexpr int kRates = 32, kBatches = 32;

Scenario flexshard_3tier() {
  Scenario scenario = read_scenario(std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/flexshard.yaml", {});
  scenario.keep([](const Case& item) { return item.name == "rm1/flexshard_3tier"; });
  return scenario;
}

// The batch changes fastest, as the last axis of a sweep does.
std::vector<Case> points_around(const Case& base) {
  std::vector<Case> points;
  for (int rate = 1; rate <= kRates; ++rate) {
    for (int batch = 1; batch <= kBatches; ++batch) {
      Case point = base;
      point.cluster.nics->rate = {rate * 25e9 / 8};
      point.workload.batch_per_gpu = base.workload.batch_per_gpu * batch / kBatches;
      points.push_back(std::move(point));
    }
  }
  return points;
}

void sweep(benchmark::State& state) {
  const Scenario scenario = flexshard_3tier();
  const Case& base = scenario.cases.front();
  const Plan plan = make_plan(base, cluster_of(base), scenario.seed, {});
  const std::vector<Case> points = points_around(base);
  const auto judge = std::make_shared<const IterationJudge>();
  std::size_t simulated = 0;
  for (auto _ : state) {
    KeptPlan kept(plan, judge);
    for (const Case& point : points) benchmark::DoNotOptimize(kept.figures(point));
    simulated += points.size();
  }
  state.counters["per_s"] = benchmark::Counter(static_cast<double>(simulated), benchmark::Counter::kIsRate);
}
BENCHMARK(sweep)->Name("sweep/flexshard_3tier_rate_by_batch")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace shardsim
