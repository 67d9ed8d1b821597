// Expanding a collective must grow with the ranks, not with their square.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "bench/peak_memory.h"
#include "models/collective/collective_prediction.h"
#include "models/collective/fitted_overheads.h"
#include "plan/plan.h"
#include "study/scenario/scenario.h"

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

Cluster hopper_of(int nodes) {
  ClusterSpec spec = read_cluster(load_named("hgx_h100_8x400g", "clusters", "", {}));
  spec.nodes = nodes;
  return Cluster(with_fits(spec));
}

// The prediction of one row of `collective predict` and `compare`: 32 GPUs in under 50 us, 4,096 in under 20 ms.
void predict(benchmark::State& state, CollectiveKind kind) {
  const Cluster cluster = hopper_of(static_cast<int>(state.range(0)) / 8);
  const CollectiveQuestion question{kind, 64 << 20, nullptr, all_ranks(cluster.world_size()), {}};
  for (auto _ : state) benchmark::DoNotOptimize(predict_collective(question, cluster));
  state.counters["peak_MB"] = peak_mb();
}
BENCHMARK_CAPTURE(predict, all_to_all, CollectiveKind::all_to_all)->Arg(32)->Arg(4096)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(predict, all_reduce, CollectiveKind::all_reduce)->Arg(32)->Arg(4096)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(predict, all_gather, CollectiveKind::all_gather)->Arg(32)->Arg(4096)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(predict, broadcast, CollectiveKind::broadcast)->Arg(32)->Arg(4096)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(predict, send_recv, CollectiveKind::send_recv)->Arg(32)->Arg(4096)->Unit(benchmark::kMicrosecond);

// Uneven bytes per rank: under 200 ms.
void predict_uneven(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  const Cluster cluster = hopper_of(ranks / 8);
  ByteMatrix matrix;
  matrix.kind = ByteMatrix::Kind::by_destination;
  for (int d = 0; d < ranks; ++d) matrix.units.push_back(10'000 + 7919 * d % 10'000);
  const CollectiveQuestion question{CollectiveKind::all_to_all, 0, &matrix, all_ranks(ranks), {}};
  for (auto _ : state) benchmark::DoNotOptimize(predict_collective(question, cluster));
  state.counters["peak_MB"] = peak_mb();
}
BENCHMARK(predict_uneven)->Arg(32)->Arg(4096)->Unit(benchmark::kMicrosecond);

// An all-to-all of which only sums are known, on a mesh, where the pairs of each node are fitted to them: under 200 ms.
void predict_sums(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  const Cluster cluster = mesh_of(ranks / 8);
  std::vector<RankBytes> bytes(ranks);
  for (int r = 0; r < ranks; ++r)
    bytes[r] = {10'000 + 7919 * (r % 8), 10'000 + 7919 * (7 - r % 8), 20'000 + r, 20'000 + ranks - 1 - r, {}};
  CollectiveQuestion question{CollectiveKind::all_to_all, 0, nullptr, all_ranks(ranks), {}};
  question.rank_bytes = &bytes;
  for (auto _ : state) benchmark::DoNotOptimize(predict_collective(question, cluster));
  state.counters["peak_MB"] = peak_mb();
}
BENCHMARK(predict_sums)->Arg(32)->Arg(4096)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace shardsim
