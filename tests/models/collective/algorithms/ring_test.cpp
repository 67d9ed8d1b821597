#include <doctest/doctest.h>

#include "tests/models/test_clusters.h"

namespace shardsim::ring_test {

using namespace shardsim::test;

namespace {

std::string one_channel() {
  return "graph: {multi_node: {channels: 1, bw_intra: \"25 GB/s\", bw_inter: \"25 GB/s\"}}\n";
}

double bytes_out(const CollectiveLoads& loads, int rank, const Cluster& cluster) {
  double sum = 0;
  for (LinkId link : cluster.links_of(rank)) {
    const LinkKind kind = cluster.links()[link].kind;
    if (kind == LinkKind::nvlink_out || kind == LinkKind::nic_out) sum += bytes_on(loads, link);
  }
  return sum;
}

}  // namespace

// A common two-tier platform with 64 MiB: one ring in lock steps, 2 (n - 1) (2.5 us + S / n / 25 GB/s), in ms.
TEST_CASE("one ring on the two-tier platform takes its lock-step times") {
  const double expected_ms[][2] = {{32, 5.355937},  {128, 5.961766},   {256, 6.622738},
                                   {512, 7.913223}, {1024, 10.478466}, {4096, 25.8424}};
  for (const auto& [gpus, ms] : expected_ms) {
    const Cluster cluster = cluster_from(two_tier(static_cast<int>(gpus) / 8, one_channel()));
    const auto loads = reduction(cluster, ranks_from(0, static_cast<int>(gpus)), 64LL << 20);
    CHECK(loads.alone(cluster).ms() == doctest::Approx(ms).epsilon(1e-6));
    CHECK(loads.synchronising);
    CHECK(loads.algorithm == "ring");
  }
}

// nccl-tests PERFORMANCE.md: busbw factor 2(n-1)/n for all_reduce, (n-1)/n for all_gather and reduce_scatter.
TEST_CASE("each rank sends 2(n-1)/n of the buffer in an all_reduce, (n-1)/n in its halves") {
  const Cluster cluster = cluster_from(toy_2x4());
  for (const auto& ranks : {ranks_from(0, 8), ranks_from(0, 4), ranks_from(1, 2, 4), std::vector<int>{0, 1, 2, 5}}) {
    const double n = static_cast<double>(ranks.size());
    const auto both = reduction(cluster, ranks, 1'000'000);
    const auto half = reduction(cluster, ranks, 1'000'000, "ring", CollectiveKind::all_gather);
    const auto other = reduction(cluster, ranks, 1'000'000, "ring", CollectiveKind::reduce_scatter);
    for (int rank : ranks) {
      CHECK(bytes_out(both, rank, cluster) == doctest::Approx(2 * (n - 1) / n * 1e6));
      CHECK(bytes_out(half, rank, cluster) == doctest::Approx((n - 1) / n * 1e6));
      CHECK(bytes_out(other, rank, cluster) == doctest::Approx((n - 1) / n * 1e6));
    }
    CHECK(bytes_over(both, LinkKind::nic_out, cluster) == doctest::Approx(bytes_over(both, LinkKind::nic_in, cluster)));
  }
}

// With NCCL_CROSS_NIC=1 the last GPU of a node sends by its own NIC, and not by NVLink to the first one's.
TEST_CASE("a ring that changes NICs leaves out the last hop of a node, and loads each NIC as much") {
  const std::string node = header(2) + gpu_line(4, "9.0") + "nvlink: {kind: switch, links_per_gpu: 18}\n" +
                           "nics: {per_gpu: 1, rate: \"400 Gbit/s\"}\n";
  const Cluster keeps = cluster_from(node + "nccl_settings: {cross_nic: 0}\n");
  const Cluster crosses = cluster_from(node + "nccl_settings: {cross_nic: 1}\n");
  const auto ranks = ranks_from(0, 8);
  const auto kept = reduction(keeps, ranks, 8'000'000), crossed = reduction(crosses, ranks, 8'000'000);
  for (const LinkKind kind : {LinkKind::nic_out, LinkKind::nic_in}) {
    CHECK(bytes_over(kept, kind, keeps) == doctest::Approx(bytes_over(crossed, kind, crosses)));
    CHECK(bytes_over(crossed, kind, crosses) == doctest::Approx(2 * 14e6));
  }
  CHECK(bytes_over(kept, LinkKind::nvlink_out, keeps) == doctest::Approx(8 * 14e6));
  CHECK(bytes_over(crossed, LinkKind::nvlink_out, crosses) == doctest::Approx(6 * 14e6));
  for (const int rank : ranks)
    for (LinkId link : crosses.links_of(rank))
      if (crosses.links()[link].kind == LinkKind::nic_out) CHECK(bytes_on(crossed, link) == doctest::Approx(14e6 / 4));
}

// Row-wise pooled tables of the worked example: B = 131,072, so 114,688 leave each of 8 ranks.
TEST_CASE("the reduce-scatter of 131,072 bytes sends 114,688 from each of 8 ranks") {
  const Cluster cluster = cluster_from(toy_2x4());
  const auto loads = reduction(cluster, ranks_from(0, 8), 131'072, "ring", CollectiveKind::reduce_scatter);
  for (int rank = 0; rank < 8; ++rank) CHECK(bytes_out(loads, rank, cluster) == doctest::Approx(114'688));
}

TEST_CASE("with a NIC per GPU every NIC carries one channel: 2(n-1)/n of B/8") {
  const Cluster cluster = cluster_from(two_tier(4));
  const auto loads = reduction(cluster, ranks_from(0, 32), 32'000'000);
  for (int rank = 0; rank < 32; ++rank) {
    CHECK(bytes_on(loads, cluster.nic_out(rank / 8, rank % 8)) == doctest::Approx(2 * 31.0 / 32 * 4e6));
    CHECK(bytes_on(loads, cluster.nic_in(rank / 8, rank % 8)) == doctest::Approx(2 * 31.0 / 32 * 4e6));
  }
}

TEST_CASE("a group with one rank per node goes from NIC to NIC only, over its own NICs") {
  const Cluster cluster = cluster_from(two_tier(4));
  const auto loads = reduction(cluster, ranks_from(3, 4, 8), 4'000'000);
  CHECK(loads.loads.size() == 8);
  for (int node = 0; node < 4; ++node) {
    CHECK(bytes_on(loads, cluster.nic_out(node, 3)) == doctest::Approx(6e6));
    CHECK(bytes_on(loads, cluster.nic_in(node, 3)) == doctest::Approx(6e6));
  }
}

TEST_CASE("the last GPU of a channel hands over to the one with the NIC when PXN is on") {
  const std::string without = toy_2x4();
  std::string with = without;
  with.replace(with.find("pxn: false"), 10, "pxn: true");
  const auto nvlink_bytes = [](const Cluster& cluster) {
    return bytes_over(reduction(cluster, ranks_from(0, 8), 8'000'000), LinkKind::nvlink_out, cluster);
  };
  // 4 channels of 2 MB, 3 or 4 hops in each of 2 nodes, 2 * 7/8 of the share on each.
  CHECK(nvlink_bytes(cluster_from(without)) == doctest::Approx(4 * 2 * 3 * 2e6 * 1.75));
  CHECK(nvlink_bytes(cluster_from(with)) == doctest::Approx(4 * 2 * 4 * 2e6 * 1.75));
}

// NCCL's graph for one cube-mesh node of A100 is 12 channels of 20 GB/s: a bus bandwidth of 240 GB/s.
TEST_CASE("one cube-mesh node reduces at 240 GB/s of bus bandwidth") {
  const Cluster cluster = cluster_from(cube_mesh(1));
  const auto loads = reduction(cluster, ranks_from(0, 8), 1'000'000'000);
  CHECK(2 * 7.0 / 8 * 1e9 / (loads.alone(cluster) - loads.start).value == doctest::Approx(240e9));
}

TEST_CASE("stated rings are followed, hop by hop") {
  const std::string graph =
      "graph: {one_node: {channels: 1, bw_intra: \"20 GB/s\", rings: [[0, 3, 2, 1, 5, 6, 7, 4]]}}\n";
  const Cluster cluster = cluster_from(cube_mesh(1) + graph);
  const auto loads = reduction(cluster, ranks_from(0, 8), 8'000'000);
  CHECK(loads.loads.size() == 8);
  for (const LinkLoad& load : loads.loads) {
    CHECK(load.bytes == doctest::Approx(14e6));
    CHECK(cluster.links()[load.link].rate.bytes_per_second == doctest::Approx(80e9));
  }
}

TEST_CASE("a group without a ring of direct links goes over relays") {
  const Cluster cluster = cluster_from(cube_mesh(1, "widest", 0.5));
  const auto loads = reduction(cluster, {0, 5, 6}, 3000);
  CHECK(loads.alone(cluster).value > 0);
  for (const LinkLoad& load : loads.loads) CHECK(load.occupancy == doctest::Approx(2 * load.bytes));
}

TEST_CASE("latency counts every step: 2(n-1) of the slowest hop") {
  const Cluster cluster = cluster_from(two_tier(4));
  CHECK(reduction(cluster, ranks_from(0, 32), 0).start.us() == doctest::Approx(62 * 2.5));
  CHECK(reduction(cluster, ranks_from(0, 8), 0).start.us() == doctest::Approx(14 * 1.0));
  CHECK(reduction(cluster, ranks_from(0, 8), 0, "ring", CollectiveKind::all_gather).start.us() == doctest::Approx(7));
}

}  // namespace shardsim::ring_test
