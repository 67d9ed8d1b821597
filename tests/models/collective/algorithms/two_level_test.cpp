#include <doctest/doctest.h>

#include "tests/models/test_clusters.h"

namespace shardsim::two_level_test {

using namespace shardsim::test;

TEST_CASE("each NIC carries 2(N-1)/N of its GPU's shard, each GPU 2(p-1)/p of the buffer inside its node") {
  const Cluster cluster = cluster_from(two_tier(4));
  const auto loads = reduction(cluster, ranks_from(0, 32), 32'000'000, "two_level");
  CHECK(loads.algorithm == "two_level");
  CHECK(loads.synchronising);
  for (int rank = 0; rank < 32; ++rank) {
    CHECK(bytes_on(loads, cluster.nic_out(rank / 8, rank % 8)) == doctest::Approx(1.5 * 4e6));
    CHECK(bytes_on(loads, cluster.nic_in(rank / 8, rank % 8)) == doctest::Approx(1.5 * 4e6));
    const LinkId out = cluster.route(rank, rank ^ 1).links.front();
    CHECK(bytes_on(loads, out) == doctest::Approx(1.75 * 32e6));
  }
}

TEST_CASE("levels are pipelined: the slower one alone sets the time") {
  const Cluster cluster = cluster_from(two_tier(4));
  const auto loads = reduction(cluster, ranks_from(0, 32), 1'000'000'000, "two_level");
  CHECK((loads.alone(cluster) - loads.start).value == doctest::Approx(1.5 * 0.125e9 / 25e9));
}

// 2(p-1) steps at 1 us inside and 2(N-1) at 2 us across.
TEST_CASE("latency adds the steps of both levels") {
  const Cluster cluster = cluster_from(toy_2x4());
  CHECK(reduction(cluster, ranks_from(0, 8), 0, "two_level").start.us() == doctest::Approx(6 * 1.0 + 2 * 2.0));
}

TEST_CASE("two GPUs that share a NIC put both shards on it") {
  const Cluster cluster = cluster_from(header(2) + gpu_line(4) + "nvlink: {kind: switch, links_per_gpu: 12}\n" +
                                       "nics: {shared_by: 2, rate: \"100 Gbit/s\"}\n" + no_overheads());
  const auto loads = reduction(cluster, ranks_from(0, 8), 4'000'000, "two_level");
  for (int node = 0; node < 2; ++node)
    for (int nic = 0; nic < 2; ++nic) CHECK(bytes_on(loads, cluster.nic_out(node, nic)) == doctest::Approx(2e6));
}

TEST_CASE("groups without two even levels go around a plain ring, and say so") {
  const Cluster cluster = cluster_from(two_tier(4));
  for (const auto& ranks : {ranks_from(0, 8), ranks_from(0, 4, 8), std::vector<int>{0, 1, 8}}) {
    const auto loads = reduction(cluster, ranks, 1'000'000, "two_level");
    CHECK(loads.algorithm == "ring");
    CHECK(loads.alone(cluster) == reduction(cluster, ranks, 1'000'000, "ring").alone(cluster));
  }
}

}  // namespace shardsim::two_level_test
