#include <doctest/doctest.h>

#include <algorithm>

#include "base/rng.h"
#include "tests/physics/lab.h"

namespace shardsim::slowest_port_test {

// Random skewed all-to-alls: the time never beats the slowest port, whose bytes are counted here from the matrix alone,
// pair by pair, without routes.

using namespace shardsim::physics;

namespace {

// Sizes over three decades, some pairs silent.
ByteMatrix skewed(int members, Rng& rng) {
  ByteMatrix matrix;
  matrix.kind = ByteMatrix::Kind::dense;
  matrix.unit_bytes = 1024;
  matrix.dense.assign(members, std::vector<std::int64_t>(members, 0));
  for (auto& row : matrix.dense) {
    const double scale = std::pow(10.0, 3 * rng.uniform());
    for (std::int64_t& units : row) {
      if (rng.uniform() < 0.8) units = std::llround(100 * scale * rng.uniform());
    }
  }
  return matrix;
}

double node_nic_rate(const ClusterSpec& spec) {
  return spec.nics->rate.bytes_per_second * nics_of_node(spec);
}

// Seconds that the busiest GPU's NVLinks need for what stays inside its node.
double inside_seconds(const ByteMatrix& matrix, const Cluster& cluster) {
  const double rate = cluster.spec().nvlink.links_per_gpu * cluster.spec().nvlink.per_link_effective.bytes_per_second;
  double most = 0;
  for (int rank = 0; rank < cluster.world_size(); ++rank) {
    double out = 0, in = 0;
    for (int other = 0; other < cluster.world_size(); ++other) {
      if (other == rank || cluster.node_of(other) != cluster.node_of(rank)) continue;
      out += static_cast<double>(matrix.bytes_between(rank, other, cluster.world_size()));
      in += static_cast<double>(matrix.bytes_between(other, rank, cluster.world_size()));
    }
    most = std::max({most, out / rate, in / rate});
  }
  return most;
}

// Seconds that the busiest node's NICs, all together, need for what leaves or reaches it.
double across_seconds(const ByteMatrix& matrix, const Cluster& cluster) {
  double most = 0;
  for (int node = 0; node < cluster.nodes(); ++node) {
    double out = 0, in = 0;
    for (int a = 0; a < cluster.world_size(); ++a) {
      for (int b = 0; b < cluster.world_size(); ++b) {
        const auto bytes = static_cast<double>(matrix.bytes_between(a, b, cluster.world_size()));
        if (cluster.node_of(a) == node && cluster.node_of(b) != node) out += bytes;
        if (cluster.node_of(a) != node && cluster.node_of(b) == node) in += bytes;
      }
    }
    most = std::max(most, std::max(out, in) / node_nic_rate(cluster.spec()));
  }
  return most;
}

// The same per GPU, where each has a NIC of its own and sends through no other's.
double own_nic_seconds(const ByteMatrix& matrix, const Cluster& cluster) {
  if (cluster.spec().nics->per_gpu != 1 || cluster.spec().p2p.pxn.value_or(true)) return 0;
  double most = 0;
  for (int rank = 0; rank < cluster.world_size(); ++rank) {
    double out = 0, in = 0;
    for (int other = 0; other < cluster.world_size(); ++other) {
      if (cluster.node_of(other) == cluster.node_of(rank)) continue;
      out += static_cast<double>(matrix.bytes_between(rank, other, cluster.world_size()));
      in += static_cast<double>(matrix.bytes_between(other, rank, cluster.world_size()));
    }
    most = std::max(most, std::max(out, in) / cluster.spec().nics->rate.bytes_per_second);
  }
  return most;
}

}  // namespace

TEST_CASE("no skewed all-to-all beats its slowest port, alone or simulated") {
  Rng rng(20240611);
  for (const std::string file :
       {"toy_2x4.yaml", "two_tier_8.yaml", "a100_mesh_4x8.yaml", "a100_nvswitch_4x8.yaml", "aws_p4d.yaml",
        "hgx_h100_8x400g.yaml", "perlmutter_a100.yaml", "dgx_a100_80gb.yaml"}) {
    CAPTURE(file);
    const Cluster cluster(cluster_spec(file, 3));
    for (int trial = 0; trial < 4; ++trial) {
      CAPTURE(trial);
      const ByteMatrix matrix = skewed(cluster.world_size(), rng);
      const double floor = std::max(
          {inside_seconds(matrix, cluster), across_seconds(matrix, cluster), own_nic_seconds(matrix, cluster)});
      REQUIRE(floor > 0);
      const Timeline timeline = simulated(only_collective(cluster, OpClass::all_to_all, matrix), cluster);
      CHECK(timeline.ops[0].alone_us * 1e-6 >= floor);
      CHECK(timeline.iteration_ms * 1e-3 >= floor);
      CHECK(off(timeline.iteration_ms * 1e3, timeline.ops[0].alone_us) <= 1e-8);
    }
  }
}

// Where the ports have no overheads and no relays, the slowest port is all there is: the bound is met.
TEST_CASE("on two plain tiers a skewed all-to-all takes its slowest port plus the latency") {
  Rng rng(7);
  const Cluster cluster(cluster_spec("two_tier_8.yaml", 4));
  for (int trial = 0; trial < 5; ++trial) {
    const ByteMatrix matrix = skewed(cluster.world_size(), rng);
    const double port = std::max(inside_seconds(matrix, cluster), own_nic_seconds(matrix, cluster));
    const Timeline timeline = simulated(only_collective(cluster, OpClass::all_to_all, matrix), cluster);
    CHECK(off(timeline.iteration_ms * 1e-3, port + 2.5e-6) <= 1e-6);
  }
}

TEST_CASE("two collectives at once take at least as long as their bytes on the port that they share") {
  const Cluster cluster(cluster_spec("two_tier_8.yaml", 4));
  Program program = only_collective(cluster, OpClass::all_to_all, even_matrix(64 << 20));
  program.streams.push_back("second");
  Op second = program.ops[0];
  second.id = 1;
  second.stream = 1;
  program.ops.push_back(second);
  const double alone =
      simulated(only_collective(cluster, OpClass::all_to_all, even_matrix(64 << 20)), cluster).iteration_ms;
  const Timeline timeline = simulated(program, cluster);
  CHECK(off(timeline.iteration_ms, 2 * alone - 2.5e-3) <= 1e-6);  // the latency is paid side by side
}

}  // namespace shardsim::slowest_port_test
