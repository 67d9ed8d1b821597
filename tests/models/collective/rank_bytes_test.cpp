#include "models/collective/rank_bytes.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "base/rng.h"
#include "tests/base/error_text.h"
#include "tests/models/test_clusters.h"

namespace shardsim::rank_bytes_test {

using namespace shardsim::test;

namespace {

ByteMatrix uneven(int members) {
  Rng rng(11);
  ByteMatrix matrix;
  matrix.kind = ByteMatrix::Kind::dense;
  matrix.dense.assign(members, std::vector<std::int64_t>(members));
  for (auto& row : matrix.dense)
    for (auto& units : row) units = static_cast<std::int64_t>(rng.below(1'000'000));
  return matrix;
}

std::vector<RankBytes> sums_of(const ByteMatrix& matrix, const Cluster& cluster) {
  const int n = cluster.world_size();
  std::vector<RankBytes> sums(n);
  for (RankBytes& sum : sums) sum.sent_to_rail.assign(cluster.nics_per_node(), 0);
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to) {
      const std::int64_t bytes = matrix.bytes_between(from, to, n);
      if (from == to) continue;
      const bool inside = cluster.node_of(from) == cluster.node_of(to);
      (inside ? sums[from].sent_in_node : sums[from].sent_off_node) += bytes;
      (inside ? sums[to].received_in_node : sums[to].received_off_node) += bytes;
      if (!inside) sums[from].sent_to_rail[cluster.nic_of(cluster.gpu_of(to))] += bytes;
    }
  return sums;
}

void check_like(const Cluster& cluster, const ByteMatrix& matrix) {
  const auto ranks = ranks_from(0, cluster.world_size());
  const CollectiveLoads whole = all_to_all(cluster, ranks, matrix);
  const CollectiveLoads summed = expand_rank_bytes(ranks, sums_of(matrix, cluster), cluster);
  CHECK(summed.start.value == doctest::Approx(whole.start.value));
  REQUIRE(summed.loads.size() == whole.loads.size());
  for (std::size_t i = 0; i < whole.loads.size(); ++i) {
    CHECK(summed.loads[i].link == whole.loads[i].link);
    CHECK(summed.loads[i].bytes == whole.loads[i].bytes);
    CHECK(summed.loads[i].occupancy == whole.loads[i].occupancy);
  }
}

void check_like_the_matrix(const std::string& yaml) {
  const Cluster cluster = cluster_from(yaml);
  check_like(cluster, uneven(cluster.world_size()));
}

std::string pcie_node() {
  return header(1) + gpu_line(8) +
         "nvlink: {kind: none}\npcie: {generation: 5}\nnics: {per_gpu: 1, rate: \"200 Gbit/s\"}\n" + no_overheads();
}

std::string message_of(const std::vector<RankBytes>& bytes, const Cluster& cluster) {
  return input_error_of([&] { expand_rank_bytes(ranks_from(0, cluster.world_size()), bytes, cluster); });
}

}  // namespace

TEST_CASE("on a switch the sums of each rank load what the whole matrix loads") {
  check_like_the_matrix(two_tier(4));
  std::string pxn = two_tier(4);
  check_like_the_matrix(pxn.replace(pxn.find("pxn: false"), 10, "pxn: true"));
  check_like_the_matrix(one_gpu_nodes(6));
}

TEST_CASE("on a mesh and over PCIe the ports carry what a rank receives, not only what it sends") {
  constexpr std::int64_t kPart = 16 << 20;
  for (const std::string& yaml : {cube_mesh(1, "none"), pcie_node()}) {
    const Cluster cluster = cluster_from(yaml);
    ByteMatrix matrix;  // all others send to rank 0: the sums leave one fill
    matrix.kind = ByteMatrix::Kind::dense;
    matrix.dense.assign(8, std::vector<std::int64_t>(8));
    for (int from = 1; from < 8; ++from) matrix.dense[from][0] = kPart;
    check_like(cluster, matrix);
  }
}

TEST_CASE("even sums over PCIe are even pairs") {
  const Cluster cluster = cluster_from(pcie_node());
  const auto ranks = ranks_from(0, 8);
  const std::vector<RankBytes> bytes(8, RankBytes{7'000'000, 7'000'000, 0, 0, {}});
  const CollectiveLoads summed = expand_rank_bytes(ranks, bytes, cluster);
  const CollectiveLoads even = all_to_all(cluster, ranks, even_matrix(8'000'000));
  REQUIRE(summed.loads.size() == even.loads.size());
  for (std::size_t i = 0; i < even.loads.size(); ++i) CHECK(summed.loads[i].bytes == even.loads[i].bytes);
}

TEST_CASE("sums that cannot be are refused") {
  const Cluster cluster = cluster_from(toy_2x4());
  std::vector<RankBytes> bytes(8, RankBytes{300, 300, 400, 400, {}});
  CHECK(message_of(bytes, cluster).empty());
  bytes[0].sent_in_node = 301;
  CHECK(message_of(bytes, cluster).find("received inside node 0 differ: 1201 and 1200") != std::string::npos);
  bytes[7].received_in_node = 301;
  CHECK(message_of(bytes, cluster).find("inside node 0") != std::string::npos);
  bytes[7].received_in_node = 300;
  bytes[0] = {300, 300, 400, 400, {100, 100, 100, 99}};
  CHECK(message_of(bytes, cluster).find("add up to 399") != std::string::npos);
  bytes[0].sent_to_rail = {400};
  CHECK(message_of(bytes, cluster).find("rails") != std::string::npos);
  bytes.pop_back();
  CHECK(message_of(bytes, cluster).find("7 entries for 8 ranks") != std::string::npos);
}

TEST_CASE("sums that nobody else can send or receive are refused") {
  const Cluster cluster = cluster_from(toy_2x4());
  std::vector<RankBytes> bytes(8);
  bytes[2] = {100, 100, 0, 0, {}};  // to itself
  CHECK(message_of(bytes, cluster).find("rank 2 sends 100 bytes inside node 0") != std::string::npos);
  bytes[2] = {0, 0, 100, 0, {}};
  bytes[3] = {0, 0, 0, 100, {}};  // off the node, from the node itself
  CHECK(message_of(bytes, cluster).find("node 0 receives 100 bytes from other nodes, and those send 0") !=
        std::string::npos);
  bytes[3] = {};
  bytes[5] = {0, 0, 0, 100, {}};
  CHECK(message_of(bytes, cluster).empty());
}

TEST_CASE("rails hold what the ranks with their NICs receive") {
  const Cluster cluster = cluster_from(toy_2x4());
  std::vector<RankBytes> bytes(8, RankBytes{0, 0, 400, 400, {100, 100, 100, 100}});
  CHECK(message_of(bytes, cluster).empty());
  for (RankBytes& entry : bytes) entry.sent_to_rail = {400, 0, 0, 0};
  CHECK(message_of(bytes, cluster).find("3200 bytes are sent to rail 0, and the ranks that have its NIC receive 800") !=
        std::string::npos);
  // Rail 0 of node 0 gets 1600 by rail, but node 1 sends it 1200 only.
  bytes.assign(8, RankBytes{0, 0, 400, 0, {400, 0, 0, 0}});
  bytes[7].sent_to_rail = {0, 400, 0, 0};
  bytes[0].received_off_node = 1600, bytes[4].received_off_node = 1200, bytes[5].received_off_node = 400;
  CHECK(message_of(bytes, cluster).find("node 0 receives 1600 bytes on rail 0") != std::string::npos);
}

}  // namespace shardsim::rank_bytes_test
