#include "models/collective/nccl/cost.h"

#include <doctest/doctest.h>

#include "tests/models/collective/nccl/nccl_machines.h"

namespace shardsim::cost_test {

using namespace shardsim::test;

namespace {

struct Expected {
  std::int64_t bytes;
  double us;
  std::string choice;
};

void check_times(const NcclSetup& setup, const std::vector<Expected>& rows) {
  for (const Expected& row : rows) {
    CAPTURE(row.bytes);
    const NcclTime time = nccl_time(CollectiveKind::all_reduce, row.bytes, setup);
    CHECK(std::abs(time.time.us() - row.us) < 0.01);
    CHECK(choice(time) == row.choice);
  }
}

double tree_rate(NcclProtocol protocol, std::int64_t bytes, const NcclSetup& setup) {
  return nccl_time_by(NcclAlgorithm::tree, protocol, CollectiveKind::all_reduce, bytes, setup)
      ->algorithm_bandwidth.bytes_per_second;
}

double seconds_by(NcclAlgorithm algorithm, NcclProtocol protocol, CollectiveKind kind, std::int64_t bytes,
                  const NcclSetup& setup) {
  const auto time = nccl_time_by(algorithm, protocol, kind, bytes, setup);
  REQUIRE(time);
  return time->time.us();
}

}  // namespace

// Worked out by hand from the formulas and constants of NVIDIA/nccl src/graph/tuning.cc (2.30.7).
TEST_CASE("all_reduce on two A100 nodes of eight, 8 channels of 24 GB/s, AMD hosts") {
  check_times(world(a100(2)), {{64 * kKiB, 34.91, "Tree LL"},
                               {kMiB, 70.35, "Tree LL128"},
                               {16 * kMiB, 274.61, "Ring LL128"},
                               {64 * kMiB, 864.43, "Ring LL128"},
                               {256 * kMiB, 2907.60, "Ring Simple"},
                               {kGiB, 10771.92, "Ring Simple"}});
}

TEST_CASE("all_reduce on one A100 node, 12 channels of 20 GB/s") {
  check_times(world(a100(1)), {{64 * kKiB, 16.31, "Ring LL"},
                               {kMiB, 35.92, "Ring LL"},
                               {16 * kMiB, 173.57, "Ring LL128"},
                               {64 * kMiB, 545.34, "Ring Simple"},
                               {256 * kMiB, 2013.34, "Ring Simple"},
                               {kGiB, 7885.37, "Ring Simple"}});
}

TEST_CASE("all_reduce on one V100 cube mesh, 6 channels of 20 GB/s") {
  check_times(world(v100_cube()), {{64 * kKiB, 17.94, "Ring LL"},
                                   {kMiB, 57.22, "Ring LL128"},
                                   {16 * kMiB, 300.67, "Ring Simple"},
                                   {64 * kMiB, 1034.67, "Ring Simple"},
                                   {256 * kMiB, 3970.68, "Ring Simple"},
                                   {kGiB, 15714.73, "Ring Simple"}});
}

TEST_CASE("the two constant sets differ by 29 us in the latency of the same large call") {
  const NcclTime now = nccl_time(CollectiveKind::all_reduce, kGiB, world(a100(2)));
  CHECK(now.latency.us() == doctest::Approx((8.4 + 28 * 6 + 2 * 14) * 1.4));
  CHECK(now.algorithm_bandwidth.bytes_per_second == doctest::Approx(192e9 * 16 / 30));
  CHECK(now.channels == 8);
  const NcclTime before = nccl_time(CollectiveKind::all_reduce, kGiB, world(a100(2) + nccl_2_14()));
  CHECK(before.latency.us() == doctest::Approx((8.4 + 26 * 3.4 + 4 * 9.6) * 1.9));
  CHECK(std::abs(before.time.us() - 10742.64) < 0.01);
  CHECK(choice(before) == "Ring Simple");
}

// 2.14: 12 channels of 22 GB/s, capped at 235 together because every GPU is sm80.
TEST_CASE("2.14 caps the bus of A100 nodes at 235 GB/s and gives LL a quarter of it") {
  const NcclSetup setup = world(a100(1) + nccl_2_14());
  CHECK(setup.graphs.ring == NcclChannels{12, 22, 22});
  const auto at = [&](NcclProtocol protocol) {
    return seconds_by(NcclAlgorithm::ring, protocol, CollectiveKind::all_reduce, 16 * kMiB, setup);
  };
  const double bytes_over_gb = 16 * kMiB / 1000.0, convert = 8 / 14.0;
  CHECK(at(NcclProtocol::ll) == doctest::Approx(3.6 + 14 * .47 + bytes_over_gb / (235 / 4.0 * convert)));
  CHECK(at(NcclProtocol::ll128) == doctest::Approx(10 + 14 * 1.9 + bytes_over_gb / (235 * .92 * convert)));
  CHECK(at(NcclProtocol::simple) == doctest::Approx(8.4 + 14 * 3.4 + bytes_over_gb / (235 * convert)));
}

TEST_CASE("2.14 over one GPU per node: LL hops 1.8 times as long, LL128 at 0.7 of the bus, 2N network hops") {
  const NcclSetup setup = world(single(4, "8.0", 4, "200 Gbit/s") + nccl_2_14());
  const auto at = [&](NcclProtocol protocol) {
    return seconds_by(NcclAlgorithm::ring, protocol, CollectiveKind::all_reduce, kMiB, setup);
  };
  const double mega = kMiB / 1000.0, convert = 4 / 6.0;
  CHECK(at(NcclProtocol::ll) == doctest::Approx(3.6 - 2 * 1.8 * 1 + 8 * 2.7 + mega / (6 * convert)));
  CHECK(at(NcclProtocol::ll128) == doctest::Approx(10 - 2 * 2.5 + 8 * 4 + mega / (24 * .7 * convert)));
}

// tuning.cc ncclTopoGetAlgoTime: index floor(log2(bytes / 64)), factors for 0 to 22.
TEST_CASE("trees are corrected from 64 bytes up to 512 MiB") {
  const NcclSetup setup = world(a100(2));
  const double rate = .92 * 192e9 / 2;
  CHECK(tree_rate(NcclProtocol::simple, 63, setup) == doctest::Approx(rate));
  CHECK(tree_rate(NcclProtocol::simple, 64, setup) == doctest::Approx(.9 * rate));
  CHECK(tree_rate(NcclProtocol::simple, 8191, setup) == doctest::Approx(.9 * rate));
  CHECK(tree_rate(NcclProtocol::simple, 8192, setup) == doctest::Approx(.8 * rate));
  CHECK(tree_rate(NcclProtocol::simple, 512 * kMiB - 1, setup) == doctest::Approx(.9 * rate));
  CHECK(tree_rate(NcclProtocol::simple, 512 * kMiB, setup) == doctest::Approx(rate));
}

TEST_CASE("2.14 corrects a tree's first 64 bytes like the next 64") {
  const NcclSetup setup = world(a100(2) + nccl_2_14());
  CHECK(tree_rate(NcclProtocol::simple, 63, setup) == tree_rate(NcclProtocol::simple, 64, setup));
  CHECK(tree_rate(NcclProtocol::simple, 512 * kMiB, setup) == doctest::Approx(.92 * 192e9 / 2));
}

TEST_CASE("Blackwell with x86 hosts corrects NVLSTree for one size more; Arm hosts do not") {
  const std::string node = switched(2, 8, "10.0", 18) + nics("per_gpu: 1, rate: \"400 Gbit/s\"");
  const auto rate = [&](const std::string& vendor, std::int64_t bytes) {
    const NcclSetup setup = world(node + "pcie: {generation: 5, cpu: {vendor: " + vendor + "}}\n");
    return nccl_time_by(NcclAlgorithm::nvls_tree, NcclProtocol::simple, CollectiveKind::all_reduce, bytes, setup)
        ->algorithm_bandwidth.bytes_per_second;
  };
  CHECK(rate("amd", 512 * kMiB) == doctest::Approx(.9 * rate("arm", 512 * kMiB)));
  CHECK(rate("amd", kGiB) == rate("arm", kGiB));
}

// The plateau: 2.30 from 64 bytes per compute channel and rank; 2.14 from 64 KiB per 16 ranks.
TEST_CASE("rings of Simple over several nodes get slower to start once the pieces are large") {
  const auto latency = [](std::int64_t bytes, const NcclSetup& setup) {
    return nccl_time_by(NcclAlgorithm::ring, NcclProtocol::simple, CollectiveKind::all_reduce, bytes, setup)
        ->latency.us();
  };
  const NcclSetup now = world(a100(2));
  CHECK(now.graphs.compute_channels == 16);
  CHECK(latency(16 * 16 * 64 - 1, now) == doctest::Approx(204.4));
  CHECK(latency(16 * 16 * 64, now) == doctest::Approx(204.4 * 1.4));
  const NcclSetup before = world(a100(2) + nccl_2_14());
  CHECK(latency(65535, before) == doctest::Approx(135.2));
  CHECK(latency(65536, before) == doctest::Approx(135.2 * 1.9));
  const NcclSetup one_node = world(a100(1));
  CHECK(latency(kGiB, one_node) == doctest::Approx(8.4 + 14 * 3.4));
}

// Bus of NVLS: 8 heads x 40 x .85 x 7/8 x 2 = 476; NVLSTree on two nodes 8 x 57.7, on more 8 x 45.5, which rings that
// change NICs (8 x 48) exceed once their latency counts little.
TEST_CASE("H100 nodes all-reduce by NVLS, over two nodes by NVLSTree, over more by it or by rings") {
  const auto bus = [](const NcclTime& time, int ranks) {
    return time.algorithm_bandwidth.bytes_per_second * 2 * (ranks - 1) / ranks / 1e9;
  };
  const NcclTime one = nccl_time(CollectiveKind::all_reduce, kGiB, world(h100(1)));
  CHECK(choice(one) == "NVLS Simple");
  CHECK(bus(one, 8) == doctest::Approx(476));
  CHECK(one.latency.us() == doctest::Approx(25));
  const NcclTime two = nccl_time(CollectiveKind::all_reduce, kGiB, world(h100(2)));
  CHECK(choice(two) == "NVLSTree Simple");
  CHECK(bus(two, 16) == doctest::Approx(461.6));
  CHECK(two.latency.us() == doctest::Approx(25 + 2 * 20.9));
  const NcclTime four = nccl_time(CollectiveKind::all_reduce, 64 * kMiB, world(h100(4)));
  CHECK(choice(four) == "NVLSTree Simple");
  CHECK(bus(four, 32) == doctest::Approx(364));
  CHECK(four.latency.us() == doctest::Approx(25 + 2 * 2 * 20.9));
  const NcclTime large = nccl_time(CollectiveKind::all_reduce, kGiB, world(h100(4)));
  CHECK(choice(large) == "Ring Simple");
  CHECK(bus(large, 32) == doctest::Approx(384));
}

TEST_CASE("H100 nodes with fewer NICs: NVLSTree to four NICs, the ring with two") {
  const auto chosen = [](int nodes, int shared_by) {
    const std::string nic = fmt::format("shared_by: {}, rate: \"400 Gbit/s\"", shared_by);
    return nccl_time(CollectiveKind::all_reduce, kGiB, world(h100(nodes, 8, nic)));
  };
  CHECK(choice(chosen(2, 2)) == "NVLSTree Simple");
  CHECK(chosen(2, 2).algorithm_bandwidth.bytes_per_second * 30 / 16 == doctest::Approx(230.8e9));
  CHECK(chosen(4, 2).algorithm_bandwidth.bytes_per_second * 62 / 32 <= doctest::Approx(192e9));
  CHECK(choice(chosen(2, 4)) == "Ring Simple");
  CHECK(choice(chosen(2, 8)) == "Ring Simple");
}

TEST_CASE("four H100 all-reduce by a ring of 360 GB/s, which beats the 240 of NVLS") {
  const NcclTime time = nccl_time(CollectiveKind::all_reduce, kGiB, world(h100(1, 4)));
  CHECK(choice(time) == "Ring Simple");
  CHECK(time.algorithm_bandwidth.bytes_per_second == doctest::Approx(360e9 * 4 / 6));
}

TEST_CASE("all_gather and reduce_scatter take n - 1 ring steps and cost the same") {
  const NcclSetup setup = world(a100(2));
  const NcclTime gather = nccl_time(CollectiveKind::all_gather, kGiB, setup);
  CHECK(choice(gather) == "Ring Simple");
  CHECK(gather.time.us() == doctest::Approx(8.4 + 14 * 6 + 14 + kGiB / 1000.0 / (192 * 16 / 15.0)));
  CHECK(nccl_time(CollectiveKind::reduce_scatter, kGiB, setup).time == gather.time);
}

// sm60 and newer, one rank per node: base + floor(log2 N) x hop / 3.5 + 2.8 n, .75 of the bus, left unconverted.
TEST_CASE("one GPU per node gathers by PAT when that is faster") {
  const NcclSetup setup = world(single(8, "8.0", 4, "200 Gbit/s"));
  const double pat = seconds_by(NcclAlgorithm::pat, NcclProtocol::simple, CollectiveKind::all_gather, kMiB, setup);
  CHECK(pat == doctest::Approx(8 + 3 * 14 / 3.5 + 2.8 * 8 + kMiB / 1000.0 / 18));
  const double ring = seconds_by(NcclAlgorithm::ring, NcclProtocol::simple, CollectiveKind::all_gather, kMiB, setup);
  CHECK(ring == doctest::Approx(8.4 + 7 * 14 + kMiB / 1000.0 / (24 * 8 / 7.0)));
  CHECK_FALSE(nccl_time_by(NcclAlgorithm::pat, NcclProtocol::simple, CollectiveKind::all_reduce, kMiB, setup));
  CHECK_FALSE(nccl_time_by(NcclAlgorithm::pat, NcclProtocol::simple, CollectiveKind::all_gather, kMiB, world(a100(2))));
}

TEST_CASE("a broadcast takes one hop when all channels are alike, else one per rank, at the rate of the bus") {
  const auto at = [](const std::string& yaml, NcclProtocol protocol) {
    return nccl_time_by(NcclAlgorithm::ring, protocol, CollectiveKind::broadcast, kMiB, world(yaml));
  };
  const auto one = at(a100(1), NcclProtocol::simple);
  CHECK(one->latency.us() == doctest::Approx(8.4 + 3.4));
  CHECK(one->algorithm_bandwidth.bytes_per_second == doctest::Approx(240e9));
  CHECK(at(a100(2), NcclProtocol::simple)->latency.us() == doctest::Approx(8.4 + 16 * 14));
  CHECK(at(a100(2), NcclProtocol::ll)->latency.us() == doctest::Approx(6.6 + 16 * 2.7));
  CHECK(at(a100(2) + nccl_2_14(), NcclProtocol::simple)->latency.us() == doctest::Approx(8.4 + 16 * 28));
}

TEST_CASE("one GPU per node: trees are plain (.85) and rings pay the network hop of trees") {
  const NcclSetup setup = world(single(2, "8.0", 4, "200 Gbit/s"));
  CHECK(tree_rate(NcclProtocol::simple, kGiB, setup) == doctest::Approx(.85 * .92 * 24e9 / 2));
  CHECK(nccl_time_by(NcclAlgorithm::ring, NcclProtocol::ll, CollectiveKind::all_reduce, 64, setup)->latency.us() ==
        doctest::Approx(6.6 + 2 * 5));
}

// NVIDIA/nccl#1357: a forced tree between two H100 on two nodes measured 41 GB/s at 32 MiB where the ring has 40.
TEST_CASE("trees between two nodes of one GPU carry what rings do, though NCCL reckons with half of it") {
  const auto carried = [](NcclAlgorithm algorithm, int nodes) {
    return nccl_time_by(algorithm, NcclProtocol::simple, CollectiveKind::all_reduce, kGiB,
                        world(single(nodes, "9.0", 4, "400 Gbit/s")))
        ->carried.bytes_per_second;
  };
  CHECK(carried(NcclAlgorithm::tree, 2) == doctest::Approx(carried(NcclAlgorithm::ring, 2)).epsilon(0.2));
  CHECK(carried(NcclAlgorithm::tree, 2) > 1.9 * carried(NcclAlgorithm::tree, 4));
}

TEST_CASE("LL over several nodes is bounded by the CPU, on one node by the GPU") {
  const auto ll = [](const std::string& yaml, int ranks) {
    return nccl_time_by(NcclAlgorithm::ring, NcclProtocol::ll, CollectiveKind::all_reduce, kGiB, world(yaml))
               ->algorithm_bandwidth.bytes_per_second *
           2 * (ranks - 1) / ranks;
  };
  CHECK(ll(a100(1), 8) == doctest::Approx(87.7e9));
  CHECK(ll(a100(2), 16) == doctest::Approx(22.5e9));
  CHECK(ll(a100(2) + "pcie: {cpu: {vendor: intel}}\n", 16) == doctest::Approx(39e9));
  CHECK(ll(a100(4) + "pcie: {cpu: {vendor: intel}}\n", 32) == doctest::Approx(20.4e9));
  CHECK(ll(h100(1), 8) == doctest::Approx(141e9));
}

TEST_CASE("a latency of the NIC counts once, for Simple twice, and in 2.14 replaces the network hop") {
  NcclSetup setup = world(a100(2));
  setup.nic_latency_us = 5;
  const auto latency = [](const NcclSetup& of, NcclProtocol protocol) {
    return nccl_time_by(NcclAlgorithm::ring, protocol, CollectiveKind::all_gather, 64, of)->latency.us();
  };
  CHECK(latency(setup, NcclProtocol::ll) == doctest::Approx(6.6 + 14 * 2 + 2.7 + 5));
  CHECK(latency(setup, NcclProtocol::simple) == doctest::Approx(8.4 + 14 * 6 + 14 + 10));
  NcclSetup before = world(a100(2) + nccl_2_14());
  before.nic_latency_us = 5;
  CHECK(latency(before, NcclProtocol::simple) == doctest::Approx(8.4 + 14 * 3.4 + 5));
}

// tuning.cc: factor f - (f - 1) / 2 of f = GPUs per channel, .85 from sm90; all_gather p x min(intra, .9 inter). Their
// chains have no last hop inside the node either, so they have the channels of rings that change NICs.
TEST_CASE("collnet, once switched on") {
  NcclSetup setup = world(h100(2));
  CHECK_FALSE(
      nccl_time_by(NcclAlgorithm::collnet_direct, NcclProtocol::simple, CollectiveKind::all_reduce, kMiB, setup));
  setup.collnet = true;
  const auto by = [&](NcclAlgorithm algorithm, CollectiveKind kind) {
    return nccl_time_by(algorithm, NcclProtocol::simple, kind, kMiB, setup);
  };
  const auto direct = by(NcclAlgorithm::collnet_direct, CollectiveKind::all_reduce);
  CHECK(direct->algorithm_bandwidth.bytes_per_second == doctest::Approx(384e9 * .85 / 2));
  CHECK(direct->latency.us() == doctest::Approx(2 * (3.7 + 7 * .4) + 31));
  CHECK(by(NcclAlgorithm::collnet_direct, CollectiveKind::all_gather)->algorithm_bandwidth.bytes_per_second ==
        doctest::Approx(8 * .9 * 48e9));
  const auto chain = by(NcclAlgorithm::collnet_chain, CollectiveKind::all_reduce);
  CHECK(chain->algorithm_bandwidth.bytes_per_second == doctest::Approx(384e9 / 2));
  CHECK(chain->latency.us() == doctest::Approx(2 * 7 * 2.8 + 30));
  const auto nvls = by(NcclAlgorithm::nvls, CollectiveKind::all_reduce);
  CHECK(nvls->latency.us() == doctest::Approx(25 + 18));
  CHECK(nvls->algorithm_bandwidth.bytes_per_second == doctest::Approx(8 * 48e9 * 16 / 30));
}

TEST_CASE("LL128 needs NVLink between the GPUs and a NIC no farther than PCIe switches") {
  const auto has = [](const std::string& yaml) {
    return nccl_time_by(NcclAlgorithm::ring, NcclProtocol::ll128, CollectiveKind::all_reduce, kMiB, world(yaml))
        .has_value();
  };
  CHECK(has(a100(2)));
  CHECK_FALSE(has(header(1) + gpu_line(8)));
  CHECK_FALSE(has(a100(2, 8, "per_gpu: 1, rate: \"200 Gbit/s\", gpudirect: false")));
  CHECK_FALSE(has(switched(1, 8, "6.0", 4)));
  const std::string stated_nvb = "graph: {one_node: {channels: 6, bw_intra: \"20 GB/s\", intra_path: nvb}}\n";
  CHECK(has(a100(1) + stated_nvb));
  CHECK_FALSE(has(a100(1) + stated_nvb + nccl_2_14()));
  CHECK_FALSE(has(switched(1, 8, "8.6", 4) + nccl_2_14()));
}

TEST_CASE("only rings broadcast, and 2.14 gathers by rings alone") {
  const NcclSetup now = world(h100(1)), before = world(h100(1) + nccl_2_14());
  for (NcclAlgorithm algorithm : kNcclAlgorithms) {
    CAPTURE(nccl_algorithm_name(algorithm));
    const bool ring = algorithm == NcclAlgorithm::ring;
    CHECK(nccl_time_by(algorithm, NcclProtocol::simple, CollectiveKind::broadcast, kMiB, now).has_value() == ring);
    CHECK(nccl_time_by(algorithm, NcclProtocol::simple, CollectiveKind::all_gather, kMiB, before).has_value() == ring);
  }
  CHECK(nccl_time_by(NcclAlgorithm::nvls, NcclProtocol::simple, CollectiveKind::all_gather, kMiB, now).has_value());
  CHECK_FALSE(nccl_time_by(NcclAlgorithm::nvls, NcclProtocol::ll, CollectiveKind::all_reduce, kMiB, now));
}

}  // namespace shardsim::cost_test
