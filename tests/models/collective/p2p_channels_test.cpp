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

// NVIDIA/nccl src/enqueue.cc; what eight and four H100 measured (scenarios/measurements/open/h100_cluster_xxrjun.csv)
// has these steps: 80 GB/s up to 64 MiB between two of eight, 160 between two of four and at 128 MiB, 300 at 256 MiB.
TEST_CASE("a send over an NVSwitch has more channels the larger it is, and fewer the more ranks there are") {
  const Cluster cluster = cluster_from(header(1) + gpu_line(8, "9.0") + "nvlink: {kind: switch, links_per_gpu: 18}\n");
  const auto of = [&](std::int64_t mib, int ranks) { return channels_of_send(mib * kMiB, ranks, cluster.spec()); };
  CHECK(of(32, 8) == 4);
  CHECK(of(64, 8) == 4);
  CHECK(of(65, 8) == 8);
  CHECK(of(128, 8) == 8);
  CHECK(of(256, 8) == 16);
  CHECK(of(512, 8) == 32);
  CHECK(of(16384, 8) == 32);
  CHECK(of(32, 4) == 8);
  CHECK(of(128, 4) == 8);
  CHECK(of(1, 2) == 16);
  CHECK(of(1, 72) == 1);
  const Cluster blackwell =
      cluster_from(header(1) + gpu_line(8, "10.0") + "nvlink: {kind: switch, links_per_gpu: 18}\n");
  CHECK(channels_of_send(kMiB, 8, blackwell.spec()) == 8);
}

TEST_CASE("a pair over an NVSwitch moves what its channels carry, and a port with many pairs all that it can") {
  const std::string node = header(1) + gpu_line(8, "9.0") +
                           "nvlink: {kind: switch, links_per_gpu: 18, per_link_effective: 20 GB/s}\n" +
                           "overheads: {send_recv: {in_node: {start: 0 s, channel_rate: 20 GB/s}}, all_to_all: "
                           "{in_node: {start: 0 s, channel_rate: 20 GB/s}}}\n";
  const Cluster cluster = cluster_from(node);
  const auto shift = [&](std::int64_t bytes) {
    const CollectiveCall call{CollectiveKind::send_recv, ranks_from(0, 8), nullptr, bytes};
    const CollectiveLoads loads = expand_collective(call, cluster, "direct");
    return (loads.alone(cluster) - loads.start).value;
  };
  CHECK(shift(64 * kMiB) == doctest::Approx(64. * kMiB / 80e9));
  CHECK(shift(128 * kMiB) == doctest::Approx(128. * kMiB / 160e9));
  CHECK(shift(kGiB) == doctest::Approx(1. * kGiB / 360e9));
  const auto exchange = [&](const std::vector<int>& ranks, std::int64_t bytes) {
    const CollectiveLoads loads = all_to_all(cluster, ranks, even_matrix(bytes));
    return (loads.alone(cluster) - loads.start).value;
  };
  CHECK(exchange(ranks_from(0, 8), 80'000'000) == doctest::Approx(70e6 / 360e9));
  CHECK(exchange({0, 1}, 80'000'000) == doctest::Approx(40e6 / 320e9));
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
