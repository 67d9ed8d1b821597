// Comparing the published times of collectives with predictions must stay a matter of seconds: people do it after each
// change of a cluster file.
#include <benchmark/benchmark.h>

#include <string>

#include "validate/measurements/judgement.h"
#include "validate/measurements/read/measurements.h"
#include "validate/measurements/read/system_map.h"

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

}  // namespace
}  // namespace shardsim
