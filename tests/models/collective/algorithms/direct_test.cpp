#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "models/collective/channel_layout.h"
#include "models/collective/collective_prediction.h"
#include "tests/models/test_clusters.h"

namespace shardsim::direct_test {

using namespace shardsim::test;

namespace {

ByteMatrix random_matrix(int members, std::uint64_t seed) {
  Rng rng(seed);
  ByteMatrix matrix;
  matrix.kind = ByteMatrix::Kind::dense;
  matrix.unit_bytes = 4;
  matrix.dense.assign(members, std::vector<std::int64_t>(members));
  for (auto& row : matrix.dense)
    for (auto& units : row)
      units = rng.below(4) == 0 ? 0 : static_cast<std::int64_t>(1 + (rng.next() >> (40 + rng.below(20))));
  return matrix;
}

std::vector<std::int64_t> random_units(int members, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::int64_t> units(members);
  for (auto& u : units) u = static_cast<std::int64_t>(rng.below(1'000'000));
  return units;
}

void add_along(const Route& route, double pair, std::vector<double>& bytes) {
  for (LinkId link : route.links) bytes[link] += pair * route.share;
  for (const Route& other : route.also)
    for (LinkId link : other.links) bytes[link] += pair * other.share;
}

// With PXN: the lowest rank beside `from` whose NIC has the place of the destination's, if an NVLink leads there.
int sender_of(int from, int to, const std::vector<int>& ranks, const Cluster& cluster) {
  const auto nic = [&](int rank) { return cluster.nic_of(cluster.gpu_of(rank)); };
  if (!uses_pxn(cluster) || cluster.node_of(from) == cluster.node_of(to) || nic(from) == nic(to)) return from;
  std::vector<int> rising = ranks;
  std::sort(rising.begin(), rising.end());
  for (int rank : rising)
    if (cluster.node_of(rank) == cluster.node_of(from) && nic(rank) == nic(to) &&
        cluster.route(from, rank).path == PathClass::nvl)
      return rank;
  return from;
}

// Every pair along its own route: what the aggregated loads must equal.
std::vector<double> pair_by_pair(const Cluster& cluster, const std::vector<int>& ranks, const ByteMatrix& matrix) {
  std::vector<double> bytes(cluster.links().size(), 0.0);
  const int members = static_cast<int>(ranks.size());
  for (int s = 0; s < members; ++s)
    for (int d = 0; d < members; ++d) {
      if (s == d) continue;
      const auto pair = static_cast<double>(matrix.bytes_between(s, d, members));
      const int sender = sender_of(ranks[s], ranks[d], ranks, cluster);
      if (sender != ranks[s]) add_along(cluster.route(ranks[s], sender), pair, bytes);
      add_along(cluster.route(sender, ranks[d]), pair, bytes);
    }
  return bytes;
}

void check_like_pairs(const Cluster& cluster, const std::vector<int>& ranks, const ByteMatrix& matrix) {
  const std::vector<double> expected = pair_by_pair(cluster, ranks, matrix);
  const CollectiveLoads loads = all_to_all(cluster, ranks, matrix);
  std::vector<double> found(expected.size(), 0.0);
  LinkId before = -1;
  for (const LinkLoad& load : loads.loads) {
    CHECK(load.link > before);  // at most one per link, rising
    before = load.link;
    found[load.link] = load.bytes;
  }
  CHECK(found == expected);
}

void check_all_matrices(const Cluster& cluster, const std::vector<int>& ranks) {
  const int members = static_cast<int>(ranks.size());
  check_like_pairs(cluster, ranks, random_matrix(members, 7));
  check_like_pairs(cluster, ranks, {ByteMatrix::Kind::even, 4, {1'000'003}, {}, false});
  for (bool transposed : {false, true}) {
    check_like_pairs(cluster, ranks, {ByteMatrix::Kind::by_destination, 8, random_units(members, 3), {}, transposed});
    check_like_pairs(cluster, ranks, {ByteMatrix::Kind::by_source, 8, random_units(members, 5), {}, transposed});
  }
}

std::string shared_nics(int nodes) {
  return header(nodes) + gpu_line(8) + "nvlink: {kind: switch, links_per_gpu: 12}\n" +
         "nics: {shared_by: 2, rate: \"100 Gbit/s\"}\n" + no_overheads();
}

std::string with_pxn(std::string yaml) {
  const std::string off = "pxn: false";
  return yaml.replace(yaml.find(off), off.size(), "pxn: true");
}

std::string without_gpudirect(int nodes) {
  return header(nodes) + gpu_line(4) + "pcie: {generation: 4, cpu: {vendor: amd, sockets: 2}}\n" +
         "nics: {per_node: 1, rate: \"100 Gbit/s\", gpudirect: false}\n" + no_overheads();
}

}  // namespace

// A common two-tier platform with 64 MiB per GPU: 2.5 us + S (n - 8) / n / 25 GB/s, in ms.
TEST_CASE("an all-to-all over more nodes is never faster, least of all on a fabric that loses rate to it") {
  const auto of = [](int nodes, bool collapse) {
    const Cluster cluster = cluster_from(two_tier(nodes, collapse ? "fabric: {collapse: true}\n" : ""));
    return predict_collective({CollectiveKind::all_to_all, 1 << 30, nullptr, ranks_from(0, 8 * nodes), {}}, cluster)
        .time.value;
  };
  for (const bool collapse : {false, true})
    for (int nodes = 2; nodes < 1024; nodes += nodes < 40 ? 1 : 97)
      CHECK(of(nodes + 1, collapse) >= of(nodes, collapse) * (1 - 1e-9));
  CHECK(of(8, true) == of(8, false));
  CHECK(of(540, true) / of(540, false) == doctest::Approx(std::pow(540 / 8., .05)).epsilon(.02));
}

TEST_CASE("the all-to-all of the two-tier platform matches its fluid times") {
  const double expected_ms[][2] = {{32, 2.015766},  {128, 2.519082},  {256, 2.602968},
                                   {512, 2.644912}, {1024, 2.665883}, {4096, 2.681612}};
  for (const auto& [gpus, ms] : expected_ms) {
    const Cluster cluster = cluster_from(two_tier(static_cast<int>(gpus) / 8));
    const auto loads = all_to_all(cluster, ranks_from(0, static_cast<int>(gpus)), even_matrix(64LL << 20));
    CHECK(loads.alone(cluster).ms() == doctest::Approx(ms).epsilon(1e-6));
    CHECK_FALSE(loads.synchronising);
  }
}

// Hand figures of the toy cluster: 2 us + (4/8) S / 10 GB/s over all, 1 us + (3/4) S / 100 GB/s in a node; S = 80 MB.
TEST_CASE("the toy cluster exchanges 80 MB in 4.002 ms over all ranks and in 0.601 ms in a node") {
  const Cluster cluster = cluster_from(toy_2x4());
  CHECK(all_to_all(cluster, ranks_from(0, 8), even_matrix(80'000'000)).alone(cluster).ms() == doctest::Approx(4.002));
  CHECK(all_to_all(cluster, ranks_from(4, 4), even_matrix(80'000'000)).alone(cluster).ms() == doctest::Approx(0.601));
}

TEST_CASE("aggregated loads equal those of every pair on its own route, to the byte") {
  SUBCASE("switched nodes") {
    check_all_matrices(cluster_from(two_tier(8)), ranks_from(0, 64));
  }
  SUBCASE("a group in no order, unequal nodes") {
    check_all_matrices(cluster_from(two_tier(4)), {17, 3, 30, 0, 8, 9, 4, 31, 10});
  }
  SUBCASE("switched nodes, over the rails of the destinations") {
    check_all_matrices(cluster_from(with_pxn(two_tier(4))), ranks_from(0, 32));
    check_all_matrices(cluster_from(with_pxn(two_tier(4))), {17, 3, 30, 0, 8, 9, 4, 31, 10});
  }
  SUBCASE("a mesh, over the rails that a GPU reaches by NVLink") {
    check_all_matrices(cluster_from(with_pxn(cube_mesh(3))), ranks_from(0, 24));
  }
  SUBCASE("a mesh with relays") {
    check_all_matrices(cluster_from(cube_mesh(4)), ranks_from(0, 32));
  }
  SUBCASE("a mesh with other relays") {
    check_all_matrices(cluster_from(cube_mesh(2, "highest_index")), ranks_from(0, 16));
  }
  SUBCASE("NICs shared by two GPUs") {
    check_all_matrices(cluster_from(shared_nics(3)), ranks_from(0, 24));
  }
  SUBCASE("PCIe only, through host memory") {
    check_all_matrices(cluster_from(without_gpudirect(3)), ranks_from(0, 12));
  }
  SUBCASE("leaves that limit") {
    const std::string fabric = "fabric: {kind: fat_tree, nodes_per_leaf: 2, oversubscription: 2}\n";
    check_all_matrices(cluster_from(two_tier(5, fabric)), ranks_from(0, 40));
    check_all_matrices(cluster_from(two_tier(5, fabric)), {39, 0, 17, 5, 25});
  }
}

// The same bytes, written pair by pair.
ByteMatrix dense_copy(const ByteMatrix& matrix, int members) {
  ByteMatrix dense{ByteMatrix::Kind::dense, matrix.unit_bytes, {}, {}, false};
  dense.dense.assign(members, std::vector<std::int64_t>(members));
  for (int s = 0; s < members; ++s)
    for (int d = 0; d < members; ++d) dense.dense[s][d] = matrix.units_between(s, d, members);
  return dense;
}

// Channels of 1 GB/s: a NIC of 25 GB/s is full from 25 active pairs on, and few owners leave it with fewer.
TEST_CASE("a NIC's cap counts the peers that bytes really move between, however the matrix is written") {
  for (const bool pxn : {false, true}) {
    std::string yaml = two_tier(4);
    const std::string wide = "channel_rate: \"1000 GB/s\"";
    yaml.replace(yaml.find(wide), wide.size(), "channel_rate: \"1 GB/s\"");
    const Cluster cluster = cluster_from(pxn ? with_pxn(yaml) : yaml);
    for (const int owners : {1, 3, 9}) {
      for (const bool transposed : {false, true}) {
        ByteMatrix matrix{ByteMatrix::Kind::by_destination, 8, std::vector<std::int64_t>(32, 0), {}, transposed};
        for (int owner = 0; owner < owners; ++owner) matrix.units[owner * 7 % 32] = 1000 + owner;
        const CollectiveLoads loads = all_to_all(cluster, ranks_from(0, 32), matrix);
        const CollectiveLoads expected = all_to_all(cluster, ranks_from(0, 32), dense_copy(matrix, 32));
        REQUIRE(loads.loads.size() == expected.loads.size());
        int capped = 0;
        for (std::size_t i = 0; i < loads.loads.size(); ++i) {
          CHECK(loads.loads[i].link == expected.loads[i].link);
          CHECK(loads.loads[i].occupancy == expected.loads[i].occupancy);
          CHECK(loads.loads[i].cap.bytes_per_second == expected.loads[i].cap.bytes_per_second);
          capped += loads.loads[i].cap.bytes_per_second > 0 ? 1 : 0;
        }
        CHECK(capped > 0);
      }
    }
  }
}

// Two cards on each of two switches, B bytes each: half of a card's bytes cross the sockets, so an uplink carries B out
// and B in, at half of its 24 GB/s where the copies reach half.
TEST_CASE("copies through host memory take PCIe links at a share of their rate, direct ones at all of it") {
  const auto time = [](const std::string& more) {
    const Cluster cluster =
        cluster_from(header(1) + gpu_line(4) + "pcie:\n  cpu: {vendor: intel, link: 100 GB/s}\n" + more +
                     "  tree:\n    - {switch: s0, parent: 0, gpus: [0, 1]}\n"
                     "    - {switch: s1, parent: 1, gpus: [2, 3]}\n" +
                     no_overheads());
    const ByteMatrix matrix = even_matrix(1'200'000'000);
    const CollectiveLoads loads = all_to_all(cluster, ranks_from(0, 4), matrix);
    for (const LinkLoad& load : loads.loads)
      if (cluster.links()[load.link].kind == LinkKind::pcie_trunk) CHECK(load.bytes == doctest::Approx(1.2e9));
    return (loads.alone(cluster) - loads.start).value;
  };
  CHECK(time("") == doctest::Approx(1.2 / 24));
  CHECK(time("  host_copy_efficiency: 0.5\n") == doctest::Approx(1.2 / 12));
  CHECK(time("  host_copy_efficiency: 0.5\n  p2p_level: sys\n") == doctest::Approx(1.2 / 24));
}

TEST_CASE("relays that share evenly split the bytes of a pair in halves") {
  const Cluster cluster = cluster_from(cube_mesh(1, "balanced"));
  const std::vector<int> ranks = ranks_from(0, 8);
  const ByteMatrix matrix = even_matrix(8'000'000);
  const auto expected = pair_by_pair(cluster, ranks, matrix);
  for (const LinkLoad& load : all_to_all(cluster, ranks, matrix).loads)
    CHECK(load.bytes == doctest::Approx(expected[load.link]));
}

TEST_CASE("what a rank's ports send is its row of the matrix less its own chunk") {
  const Cluster cluster = cluster_from(two_tier(8));
  const ByteMatrix matrix = random_matrix(64, 11);
  const CollectiveLoads loads = all_to_all(cluster, ranks_from(0, 64), matrix);
  CHECK(bytes_over(loads, LinkKind::nic_out, cluster) == bytes_over(loads, LinkKind::nic_in, cluster));
  CHECK(bytes_over(loads, LinkKind::nvlink_out, cluster) == bytes_over(loads, LinkKind::nvlink_in, cluster));
  for (int rank = 0; rank < 64; ++rank) {
    double sent = 0, received = 0;
    for (LinkId link : cluster.links_of(rank)) {
      const LinkKind kind = cluster.links()[link].kind;
      if (kind == LinkKind::nvlink_out || kind == LinkKind::nic_out) sent += bytes_on(loads, link);
      if (kind == LinkKind::nvlink_in || kind == LinkKind::nic_in) received += bytes_on(loads, link);
    }
    const auto own = matrix.bytes_between(rank, rank, 64);
    CHECK(sent == static_cast<double>(matrix.bytes_sent(rank, 64) - own));
    CHECK(received == static_cast<double>(matrix.bytes_received(rank, 64) - own));
  }
}

// Chunks per weight unit (two NVLinks) on the busiest link: 3 with the widest relay, 4 with either index rule;
// FlexShard's node has 20 GB/s per NVLink, so 106.7 and 80 GB/s of payload.
TEST_CASE("relayed pairs load the cube mesh as counted by hand") {
  const std::vector<std::pair<std::string, double>> rules{{"widest", 3}, {"lowest_index", 4}, {"highest_index", 4}};
  for (const auto& [rule, chunks] : rules) {
    const Cluster cluster = cluster_from(cube_mesh(1, rule, 1));
    const auto loads = all_to_all(cluster, ranks_from(0, 8), even_matrix(8'000'000'000));
    CHECK((loads.alone(cluster) - loads.start).value == doctest::Approx(chunks * 1e9 / 40e9));
  }
}

TEST_CASE("one relayed pair lowers the rate of all NVLink traffic of the call, none leaves it alone") {
  const Cluster cluster = cluster_from(cube_mesh(1, "widest", 0.5));
  for (const LinkLoad& load : all_to_all(cluster, {0, 3, 5}, even_matrix(3000)).loads)
    CHECK(load.occupancy == doctest::Approx(2 * load.bytes));
  for (const LinkLoad& load : all_to_all(cluster, {0, 1, 2, 3}, even_matrix(4000)).loads)
    CHECK(load.occupancy == load.bytes);
}

// Even sequence exchange of 8 ranks on 2 nodes of 4 (fp32, two tables of 64 columns, batch 32): bytes worked by hand.
TEST_CASE("sequence exchanges put their wire and off-node bytes on the links") {
  const Cluster cluster = cluster_from(toy_2x4());
  const auto check = [&](const CollectiveLoads& loads, double wire, double off_node) {
    CHECK(bytes_over(loads, LinkKind::nic_out, cluster) == off_node);
    CHECK(bytes_over(loads, LinkKind::nic_in, cluster) == off_node);
    CHECK(bytes_over(loads, LinkKind::nvlink_out, cluster) == wire - off_node);
    CHECK(bytes_over(loads, LinkKind::nvlink_in, cluster) == wire - off_node);
  };
  SUBCASE("row-wise: 40,960 from each rank") {
    check(all_to_all(cluster, ranks_from(0, 8), even_matrix(40'960)), 286'720, 163'840);
  }
  SUBCASE("table-wise: 196,608 from rank 0, 131,072 from rank 5; backward transposed") {
    for (bool transposed : {false, true}) {
      const ByteMatrix matrix{ByteMatrix::Kind::by_source, 256, {768, 0, 0, 0, 0, 512, 0, 0}, {}, transposed};
      check(all_to_all(cluster, ranks_from(0, 8), matrix), 286'720, 163'840);
    }
  }
  SUBCASE("flex: inside each node only") {
    for (int first : {0, 4}) check(all_to_all(cluster, ranks_from(first, 4), even_matrix(40'960)), 122'880, 0);
  }
}

TEST_CASE("a slow NIC or GPU of one node lengthens the exchange, and only there") {
  const Cluster whole = cluster_from(two_tier(4));
  const Cluster faulty = cluster_from(two_tier(4, "faults: [{node: 1, nic: 2, rate_factor: 0.5}]\n"));
  const auto time = [](const Cluster& cluster, const std::vector<int>& ranks) {
    const auto loads = all_to_all(cluster, ranks, even_matrix(1'000'000'000));
    return (loads.alone(cluster) - loads.start).value;
  };
  CHECK(time(faulty, ranks_from(0, 32)) == doctest::Approx(2 * time(whole, ranks_from(0, 32))));
  CHECK(time(faulty, {0, 1, 16, 17}) == time(whole, {0, 1, 16, 17}));
  CHECK(time(faulty, ranks_from(8, 8)) == time(whole, ranks_from(8, 8)));
}

TEST_CASE("a GPU with slow NVLinks lengthens what its node exchanges") {
  const Cluster faulty = cluster_from(two_tier(2, "faults: [{node: 1, gpu: 3, rate_factor: 0.25}]\n"));
  const auto loads = all_to_all(faulty, ranks_from(8, 8), even_matrix(8'000'000));
  CHECK((loads.alone(faulty) - loads.start).value == doctest::Approx(7e6 / (0.25 * 450e9)));
  CHECK(faulty.link_name(loads.bottleneck(faulty)).find("node1/") == 0);
  const auto other = all_to_all(faulty, ranks_from(0, 8), even_matrix(8'000'000));
  CHECK((other.alone(faulty) - other.start).value == doctest::Approx(7e6 / 450e9));
}

TEST_CASE("a spine that is crossed adds its latency") {
  const std::string fabric = "fabric: {kind: fat_tree, nodes_per_leaf: 2, latency: \"1 us\"}\n";
  const Cluster cluster = cluster_from(two_tier(4, fabric));
  CHECK(all_to_all(cluster, ranks_from(0, 16), even_matrix(16)).start.us() == doctest::Approx(2.5));
  CHECK(all_to_all(cluster, ranks_from(0, 32), even_matrix(32)).start.us() == doctest::Approx(3.5));
}

// One load per port and direction, never a flow per pair.
TEST_CASE("1,024 ranks expand into four loads a rank") {
  const Cluster cluster = cluster_from(two_tier(128));
  CHECK(all_to_all(cluster, ranks_from(0, 1024), even_matrix(64LL << 20)).loads.size() == 4 * 1024);
}

}  // namespace shardsim::direct_test
