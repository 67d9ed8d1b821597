// Comparing the published times of collectives with predictions, and long Timelines with each other, must stay a matter
// of seconds: people do it after each change of a cluster file.
#include <benchmark/benchmark.h>

#include <string>

#include "accuracy/measurements/judgement.h"
#include "accuracy/measurements/read/measurements.h"
#include "accuracy/measurements/read/system_map.h"
#include "validate/comparison/timeline_comparison.h"

namespace shardsim {
namespace {

void compare_open_set(benchmark::State& state) {
  const std::string scenarios = std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/measurements/";
  for (auto _ : state) {
    const Measurements measurements = read_measurements(scenarios + "open", {});
    const SystemMap map = read_system_map(scenarios + "systems.yaml");
    benchmark::DoNotOptimize(judgement_of(measurements.rows, map, shipped_left_out_fits(), "open"));
  }
}
BENCHMARK(compare_open_set)->Unit(benchmark::kMillisecond);

Timeline timeline_of(int world_size) {
  Timeline timeline;
  timeline.world_size = world_size;
  timeline.streams = {"main"};
  timeline.ops = {{"exchange", "all_to_all"}, {"lookup", "lookup"}};
  return timeline;
}

void compare(benchmark::State& state, const Timeline& timeline) {
  Timeline observed = timeline;
  observed.kind = "observed";
  const ComparedPair pair{"main", "main", {"predicted"}, {"observed"}};
  for (auto _ : state) benchmark::DoNotOptimize(compare_timelines(timeline, observed, pair));
}

// A long run of many ranks: figures of every rank in every iteration.
void compare_iterations(benchmark::State& state) {
  const int iterations = static_cast<int>(state.range(0));
  Timeline timeline = timeline_of(200);
  for (int i = 0; i < iterations; ++i)
    timeline.spans.push_back({i * 10.0, i * 10.0 + 9, i % timeline.world_size, 0, i % 2, i, 64});
  compare(state, timeline);
}
BENCHMARK(compare_iterations)->Arg(25'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// Collectives that all run at once.
void compare_overlapping(benchmark::State& state) {
  const int spans = static_cast<int>(state.range(0));
  Timeline timeline = timeline_of(2);
  for (int i = 0; i < spans; ++i)
    timeline.spans.push_back({i * 0.5, i * 0.5 + 1e5 + i % 7, i % timeline.world_size, 0, 0, 0, 64});
  compare(state, timeline);
}
BENCHMARK(compare_overlapping)->Arg(75'000)->Arg(300'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace shardsim
