#include <doctest/doctest.h>

#include "tests/physics/lab.h"

namespace shardsim::flow_anchors_test {

// The common two-tier platform on which flow simulators are compared: 8 GPUs per node, per GPU and direction 450 GB/s
// inside a node and 25 GB/s with 2.5 us between nodes, 64 MiB per GPU (scenarios/clusters/two_tier_8.yaml).

using namespace shardsim::physics;

namespace {

constexpr std::int64_t kBytes = 64 << 20;
constexpr double kNic = 25e9;        // B/s
constexpr double kLatency = 2.5e-6;  // s

struct Anchor {
  int gpus = 0;
  double all_to_all_ms = 0;       // all peers at once
  double ring_all_reduce_ms = 0;  // in lock steps
};
constexpr Anchor kAnchors[] = {{32, 2.015766, 5.355937},  {128, 2.519082, 5.961766},   {256, 2.602968, 6.622738},
                               {512, 2.644912, 7.913223}, {1024, 2.665883, 10.478466}, {4096, 2.681612, 25.8424}};

double run_ms(const Cluster& cluster, OpClass op_class, const EngineOptions& options = {}) {
  const Program program = only_collective(cluster, op_class, even_matrix(kBytes), kBytes);
  const Timeline timeline = simulated(program, cluster, "simgrid", options);
  CHECK(timeline.spans.size() == static_cast<std::size_t>(cluster.world_size()));
  for (const Span& span : timeline.spans) {
    CHECK(off(span.end_us - span.start_us, timeline.iteration_ms * 1e3) <= 1e-9);
  }
  return timeline.iteration_ms;
}

}  // namespace

TEST_CASE("the balanced all-to-all on two tiers is limited by the NICs alone") {
  for (const Anchor& anchor : kAnchors) {
    CAPTURE(anchor.gpus);
    const Cluster cluster(cluster_spec("two_tier_8.yaml", anchor.gpus / 8));
    const double ms = run_ms(cluster, OpClass::all_to_all);
    const double n = anchor.gpus;
    CHECK(off(ms, 1e3 * (kLatency + static_cast<double>(kBytes) * (n - 8) / n / kNic)) <= 1e-6);
    CHECK(off(ms, anchor.all_to_all_ms) <= 1e-6);
  }
}

TEST_CASE("the ring all-reduce on two tiers takes 2(n-1) lock steps") {
  for (const Anchor& anchor : kAnchors) {
    CAPTURE(anchor.gpus);
    const Cluster cluster(cluster_spec("two_tier_8.yaml", anchor.gpus / 8));
    const double ms = run_ms(cluster, OpClass::all_reduce, {4, 0, 1e-6, {{"all_reduce", "ring"}}});
    const double n = anchor.gpus;
    CHECK(off(ms, 2e3 * (n - 1) * (kLatency + static_cast<double>(kBytes) / n / kNic)) <= 1e-6);
    CHECK(off(ms, anchor.ring_all_reduce_ms) <= 1e-6);
  }
}

// The hand checks at the head of scenarios/clusters/toy_2x4.yaml.
TEST_CASE("80 MB per GPU take 4.002 ms across the toy's nodes and 0.601 ms inside one") {
  const std::int64_t bytes = 80'000'000;
  const Cluster two(cluster_spec("toy_2x4.yaml"));
  const Cluster one(cluster_spec("toy_2x4.yaml", 1));
  CHECK(off(simulated(only_collective(two, OpClass::all_to_all, even_matrix(bytes)), two).iteration_ms, 4.002) <= 1e-9);
  CHECK(off(simulated(only_collective(one, OpClass::all_to_all, even_matrix(bytes)), one).iteration_ms, 0.601) <= 1e-9);
}

}  // namespace shardsim::flow_anchors_test
