#include <doctest/doctest.h>

#include <algorithm>

#include "tests/models/test_clusters.h"

namespace shardsim::physics_test {

using namespace shardsim::test;

namespace {

struct Case {
  CollectiveKind kind;
  std::string algorithm;
};

std::vector<Case> cases() {
  return {{CollectiveKind::all_to_all, "direct"},   {CollectiveKind::all_reduce, "ring"},
          {CollectiveKind::all_reduce, "tree"},     {CollectiveKind::all_reduce, "two_level"},
          {CollectiveKind::all_reduce, "auto"},     {CollectiveKind::all_gather, "ring"},
          {CollectiveKind::reduce_scatter, "ring"}, {CollectiveKind::all_reduce, "nccl"},
          {CollectiveKind::all_gather, "nccl"},     {CollectiveKind::reduce_scatter, "nccl"},
          {CollectiveKind::broadcast, "ring"},      {CollectiveKind::broadcast, "nccl"},
          {CollectiveKind::send_recv, "direct"}};
}

CollectiveLoads expand(const Case& what, const Cluster& cluster, const std::vector<int>& ranks, std::int64_t bytes) {
  const ByteMatrix matrix = even_matrix(bytes);
  return expand_collective({what.kind, ranks, &matrix, bytes}, cluster, what.algorithm);
}

std::vector<std::vector<int>> groups(const Cluster& cluster) {
  return {ranks_from(0, cluster.world_size()),
          ranks_from(0, cluster.ranks_per_node()),
          ranks_from(cluster.ranks_per_node() - 1, cluster.nodes(), cluster.ranks_per_node()),
          {0, 1, 2, cluster.world_size() - 1}};
}

std::string with(const std::string& yaml, const std::string& from, const std::string& to) {
  std::string changed = yaml;
  const auto at = changed.find(from);
  REQUIRE(at != std::string::npos);
  return changed.replace(at, from.size(), to);
}

void check_never_longer(const std::string& slow_yaml, const std::string& fast_yaml) {
  const Cluster slow = cluster_from(slow_yaml), fast = cluster_from(fast_yaml);
  for (const Case& what : cases())
    for (const auto& ranks : groups(slow)) {
      CAPTURE(what.algorithm);
      CHECK(expand(what, fast, ranks, 50'000'000).alone(fast) <= expand(what, slow, ranks, 50'000'000).alone(slow));
    }
}

}  // namespace

TEST_CASE("no collective beats its slowest port") {
  for (const auto& yaml : {two_tier(4), toy_2x4(), cube_mesh(4), one_gpu_nodes(8)}) {
    const Cluster cluster = cluster_from(yaml);
    for (const Case& what : cases()) {
      const auto loads = expand(what, cluster, ranks_from(0, cluster.world_size()), 10'000'000);
      for (const LinkLoad& load : loads.loads) {
        CHECK(load.occupancy >= load.bytes);
        CHECK(loads.alone(cluster).value >= load.bytes / cluster.links()[load.link].rate.bytes_per_second);
      }
    }
  }
}

// The least that any algorithm must move: n - 1 of n parts of a gathered or scattered buffer reach or leave each rank.
TEST_CASE("no collective moves fewer bytes than its result needs") {
  for (const auto& yaml : {two_tier(4), toy_2x4(), cube_mesh(2), one_gpu_nodes(5)}) {
    const Cluster cluster = cluster_from(yaml);
    const int n = cluster.world_size();
    for (const Case& what : cases()) {
      double out = 0;
      const auto loads = expand(what, cluster, ranks_from(0, n), 1'000'000);
      for (const LinkLoad& load : loads.loads) {
        const LinkKind kind = cluster.links()[load.link].kind;
        if (kind == LinkKind::nvlink_out || kind == LinkKind::nvlink_mesh || kind == LinkKind::nic_out)
          out += load.bytes;
      }
      const double passes = what.kind == CollectiveKind::all_reduce ? 2 : 1;
      CHECK(out >= doctest::Approx(passes * (n - 1) * 1e6));
    }
  }
}

TEST_CASE("bytes into NICs equal bytes out of NICs, and every load is positive") {
  for (const auto& yaml : {two_tier(3), cube_mesh(3), one_gpu_nodes(7)}) {
    const Cluster cluster = cluster_from(yaml);
    for (const Case& what : cases())
      for (const auto& ranks : groups(cluster)) {
        const auto loads = expand(what, cluster, ranks, 7'654'321);
        CHECK(bytes_over(loads, LinkKind::nic_out, cluster) ==
              doctest::Approx(bytes_over(loads, LinkKind::nic_in, cluster)));
        CHECK(std::all_of(loads.loads.begin(), loads.loads.end(), [](const LinkLoad& load) { return load.bytes > 0; }));
        CHECK(std::is_sorted(loads.loads.begin(), loads.loads.end(),
                             [](const LinkLoad& a, const LinkLoad& b) { return a.link < b.link; }));
      }
  }
}

TEST_CASE("doubling any rate never lengthens a collective") {
  check_never_longer(two_tier(4), with(two_tier(4), "200 Gbit/s", "400 Gbit/s"));
  check_never_longer(two_tier(4),
                     with(two_tier(4), "per_link_effective: \"450 GB/s\"", "per_link_effective: \"900 GB/s\""));
  check_never_longer(cube_mesh(4),
                     with(cube_mesh(4), "per_link_effective: \"20 GB/s\"", "per_link_effective: \"40 GB/s\""));
  check_never_longer(cube_mesh(4), with(cube_mesh(4), "200 Gbit/s", "400 Gbit/s"));
  const std::string fabric = "fabric: {kind: fat_tree, nodes_per_leaf: 2, oversubscription: 4}\n";
  check_never_longer(two_tier(4, fabric), with(two_tier(4, fabric), "oversubscription: 4", "oversubscription: 2"));
}

TEST_CASE("more bytes never take less time") {
  const Cluster cluster = cluster_from(two_tier(4));
  for (const Case& what : cases())
    for (const auto& ranks : groups(cluster)) {
      Seconds before;
      for (std::int64_t bytes : {0LL, 1LL, 1'000LL, 1'000'000LL, 1'000'000'000LL}) {
        const Seconds now = expand(what, cluster, ranks, bytes).alone(cluster);
        CHECK(now >= before);
        before = now;
      }
    }
}

}  // namespace shardsim::physics_test
