// Expanding a collective must grow with the ranks, not with their square.
#include <benchmark/benchmark.h>

#include "models/collective.h"
#include "plan/plan.h"
#include "sim/scenario.h"

namespace shardsim {
namespace {

Cluster mesh_of(int nodes) {
  ClusterSpec spec = read_cluster(load_named("a100_mesh_4x8", "clusters", "", {}));
  spec.nodes = nodes;
  return Cluster(spec);
}

void even_all_to_all(benchmark::State& state) {
  const Cluster cluster = mesh_of(static_cast<int>(state.range(0)) / 8);
  ByteMatrix matrix;
  matrix.units = {3'000'000'000};
  const CollectiveCall call{CollectiveKind::all_to_all, all_ranks(cluster.world_size()), &matrix, 0};
  for (auto _ : state) benchmark::DoNotOptimize(expand_collective(call, cluster, "direct"));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(even_all_to_all)->RangeMultiplier(4)->Range(16, 4096)->Unit(benchmark::kMicrosecond)->Complexity();

void all_reduce(benchmark::State& state) {
  const Cluster cluster = mesh_of(static_cast<int>(state.range(0)) / 8);
  const CollectiveCall call{CollectiveKind::all_reduce, all_ranks(cluster.world_size()), nullptr, 100'000'000};
  for (auto _ : state) benchmark::DoNotOptimize(expand_collective(call, cluster, "auto"));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(all_reduce)->RangeMultiplier(4)->Range(16, 4096)->Unit(benchmark::kMicrosecond)->Complexity();

}  // namespace
}  // namespace shardsim
