#include <doctest/doctest.h>

#include "models/collective/channel_layout.h"
#include "tests/models/test_clusters.h"

namespace shardsim::p2p_channels_test {

using namespace shardsim::test;

namespace {

std::string nodes_with(int nodes, int gpus, const std::string& rate, const std::string& extra) {
  return header(nodes) + gpu_line(gpus, "9.0") + (gpus > 1 ? "nvlink: {kind: switch, links_per_gpu: 18}\n" : "") +
         "nics: {per_gpu: 1, rate: \"" + rate + "\"}\npcie: {generation: 5}\n" + extra;
}

std::string graph(int channels) {
  return fmt::format("graph: {{multi_node: {{channels: {}, bw_intra: \"24 GB/s\", bw_inter: \"24 GB/s\"}}}}\n",
                     channels);
}

int channels(const Cluster& cluster) {
  std::vector<int> all = ranks_from(0, cluster.world_size());
  return channels_per_remote_peer(group_shape(all, cluster), cluster);
}

}  // namespace

// NVIDIA/nccl src/graph/paths.cc: one channel per 14 GB/s of the NIC.
TEST_CASE("a 200 Gbit/s NIC gives each remote peer 2 channels, a 400 Gbit/s NIC 4") {
  CHECK(channels(cluster_from(nodes_with(2, 8, "200 Gbit/s", ""))) == 2);
  CHECK(channels(cluster_from(nodes_with(2, 8, "400 Gbit/s", ""))) == 4);
}

TEST_CASE("before NCCL 2.19 each remote peer has 2 channels") {
  CHECK(channels(cluster_from(nodes_with(2, 8, "400 Gbit/s", "nccl: \"2.14\"\n"))) == 2);
}

TEST_CASE("many peers share a pool of 16 channels: 1,024 ranks leave one for each") {
  CHECK(channels(cluster_from(nodes_with(2, 8, "200 Gbit/s", graph(8)))) == 2);
  CHECK(channels(cluster_from(nodes_with(128, 8, "200 Gbit/s", graph(8)))) == 1);
}

TEST_CASE("a stated number of channels is taken as it is") {
  CHECK(channels(cluster_from(nodes_with(2, 8, "400 Gbit/s", "p2p: {channels_per_peer: 3}\n"))) == 3);
}

// Published: one pair of H100 nodes with one GPU each exchanges at 38 GB/s over a 50 GB/s NIC (4 channels of 9.5).
TEST_CASE("one remote peer alone cannot fill a fast NIC, many can") {
  const std::string extra =
      "p2p: {channel_rate: \"9.5 GB/s\"}\noverheads: {all_to_all: {across_nodes: {start: \"0 s\", "
      "per_remote_peer: \"0 s\", nic_efficiency: 0.98}}}\n";
  const std::int64_t bytes = std::int64_t{4} << 30;
  const Cluster pair = cluster_from(nodes_with(2, 1, "400 Gbit/s", extra + graph(2)));
  const double alone = all_to_all(pair, {0, 1}, even_matrix(bytes)).alone(pair).value;
  CHECK(static_cast<double>(bytes) / 2 / alone == doctest::Approx(38e9).epsilon(1e-3));
  const Cluster full = cluster_from(nodes_with(2, 8, "400 Gbit/s", extra));
  const double shared = all_to_all(full, ranks_from(0, 16), even_matrix(bytes)).alone(full).value;
  CHECK(static_cast<double>(bytes) / 2 / shared == doctest::Approx(49e9).epsilon(1e-3));
}

}  // namespace shardsim::p2p_channels_test
