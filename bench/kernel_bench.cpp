// The CPU lookup must stay near what memory gives: a kernel that waits for each row in turn is many times slower.
#include <benchmark/benchmark.h>

#include "validate/microbench/bench_device.h"
#include "validate/microbench/microbench.h"

namespace shardsim {
namespace {

void lookup_beside_streaming_read(benchmark::State& state) {
  const auto device = make_cpu_bench_device(static_cast<int>(state.range(0)));
  MicrobenchOptions options;
  options.repetitions = 20;
  StreamRatio ratio;
  for (auto _ : state) {
    ratio = stream_ratio(*device, options);
    state.SetIterationTime(ratio.lookup_us * 1e-6);
  }
  state.counters["ratio"] = ratio.value();
}
BENCHMARK(lookup_beside_streaming_read)->Arg(1)->Arg(0)->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace shardsim
