#include "models/collective/collective.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "models/collective/collective_prediction.h"
#include "tests/base/error_text.h"
#include "tests/models/test_clusters.h"

namespace shardsim::collective_test {

using namespace shardsim::test;

namespace {

std::string message_of(const CollectiveCall& call, const Cluster& cluster, std::string_view algorithm) {
  return input_error_of([&] { expand_collective(call, cluster, algorithm); });
}

std::string overheads(const std::string& across, const std::string& kind = "all_reduce") {
  return header(4) + gpu_line(8) +
         "nvlink: {kind: switch, links_per_gpu: 12}\nnics: {per_gpu: 1, rate: \"200 Gbit/s\"}\n"
         "overheads: {launch_overhead: \"20 us\", " +
         kind + ": {across_nodes: " + across + "}}\n";
}

}  // namespace

TEST_CASE("a group's shape counts nodes and members per node") {
  const Cluster cluster = cluster_from(two_tier(4));
  const GroupShape shape = group_shape({0, 1, 2, 9, 25}, cluster);
  CHECK(shape.members == 5);
  CHECK(shape.nodes == 3);
  CHECK(shape.max_per_node == 3);
  CHECK(shape.min_per_node == 1);
  CHECK(shape.across_nodes());
  CHECK_FALSE(group_shape({0, 7}, cluster).across_nodes());
  CHECK(group_shape({}, cluster).members == 0);
  const GroupShape mixed = group_shape({25, 1, 9, 0, 2}, cluster);  // in whatever order
  CHECK(mixed.nodes == 3);
  CHECK(mixed.max_per_node == 3);
  CHECK(mixed.min_per_node == 1);
}

// Rule of docs/formats/cluster.md, cluster key `overheads`.
TEST_CASE("time before bytes move is launch overhead, start, remote peers and latency") {
  const GroupShape world{32, 4, 8, 8};
  const Seconds latency{1e-5};
  SUBCASE("all_reduce pays the launch overhead") {
    const Cluster cluster = cluster_from(overheads("{start: \"1 ms\"}"));
    CHECK(start_time({CollectiveKind::all_reduce, world}, latency, cluster).value ==
          doctest::Approx(20e-6 + 1e-3 + 1e-5));
  }
  SUBCASE("all_to_all pays per remote peer: 60 us + 24 x 5 us by default") {
    const Cluster cluster = cluster_from(overheads("{}"));
    CHECK(start_time({CollectiveKind::all_to_all, world}, latency, cluster).value ==
          doctest::Approx(60e-6 + 24 * 5e-6 + 1e-5));
  }
  SUBCASE("inside a node no peer is remote") {
    const Cluster cluster = cluster_from(overheads("{}"));
    CHECK(start_time({CollectiveKind::all_to_all, {8, 1, 8, 8}}, latency, cluster).value ==
          doctest::Approx(60e-6 + 1e-5));
  }
  SUBCASE("a fitted start replaces launch overhead and latency") {
    const Cluster cluster = cluster_from(overheads("{start: {value: \"1.807 ms\", source: test, fitted: true}}"));
    CHECK(start_time({CollectiveKind::all_reduce, world}, latency, cluster).value == doctest::Approx(1.807e-3));
  }
}

namespace {

double share_of_nics(CollectiveKind kind, bool across_nodes, const Cluster& cluster) {
  return nic_efficiency({kind, across_nodes ? GroupShape{32, 4, 8, 8} : GroupShape{8, 1, 8, 8}}, cluster);
}

// On four nodes of eight GPUs: fitted for 32 GPUs and calls from 1 MB on.
std::string fitted_for_32(const std::string& wiring) {
  return overheads(
      "{start: {value: \"4 ms\", source: test, fitted: true}, nic_efficiency: 0.5, per_remote_peer: \"0 s\", "
      "holds_for: {bytes_from: \"1 MB\", bytes_to: \"1 GB\", ranks_from: 32, ranks_to: 32, nvlink: " +
          wiring + "}}",
      "all_to_all");
}

double start_ms(const Cluster& cluster, int ranks, std::int64_t bytes) {
  return all_to_all(cluster, ranks_from(0, ranks), even_matrix(bytes)).start.ms();
}

}  // namespace

// 60 us, 5 us for each peer on another node, 2.5 us of the NIC: docs/formats/cluster.md, cluster key `overheads`.
TEST_CASE("a fit holds for the sizes, groups and wirings that it states; the public default holds elsewhere") {
  const Cluster cluster = cluster_from(fitted_for_32("switch"));
  CHECK(start_ms(cluster, 32, 1'000'000) == doctest::Approx(4));
  CHECK(start_ms(cluster, 32, 1'000'000'000) == doctest::Approx(4));
  const double public_32 = .06 + 24 * .005 + .0025;
  CHECK(start_ms(cluster, 32, 800) == doctest::Approx(public_32));
  CHECK(start_ms(cluster, 32, 1'000'000'032) == doctest::Approx(public_32));
  // For half as many ranks both count alike, and the roots of their times are averaged; half of the latency comes on
  // top.
  const double both = std::pow((std::sqrt(4.) + std::sqrt(.06)) / 2, 2);
  CHECK(start_ms(cluster, 16, 1'000'000) == doctest::Approx(both + 8 * .005 / 4 + .0025 / 2));
  CHECK(start_ms(cluster_from(fitted_for_32("mesh")), 32, 1'000'000) == doctest::Approx(public_32));

  const GroupShape world{32, 4, 8, 8};
  CHECK(nic_efficiency({CollectiveKind::all_to_all, world, 2'000'000}, cluster) == 0.5);
  CHECK(nic_efficiency({CollectiveKind::all_to_all, world, 800}, cluster) == doctest::Approx(0.90));
  CHECK(outside_fit({CollectiveKind::all_to_all, world, 2'000'000}, cluster).empty());
  CHECK(outside_fit({CollectiveKind::all_to_all, world, 800}, cluster).find("800 B") != std::string::npos);
  CHECK(outside_fit({CollectiveKind::all_to_all, {16, 2, 8, 8}, 2'000'000}, cluster).empty());
  CHECK(extrapolated_fit({CollectiveKind::all_to_all, {16, 2, 8, 8}, 2'000'000}, cluster) ==
        "16 ranks (fitted for 32)");
}

// A fit to measurements on 32 GPUs holds for 16 of them, for one GPU of each node, and for twice as many nodes.
TEST_CASE("a calibrated fit is extrapolated to groups of another size, and its errors grow") {
  std::string yaml = fitted_for_32("switch");
  const std::string range = "holds_for: {bytes_from: \"1 MB\"";
  yaml.replace(yaml.find(range), range.size(), "held_out: {rows: 9, from_1mib: 0.02}, " + range);
  const Cluster cluster = cluster_from(yaml);
  for (const GroupShape& group : {GroupShape{16, 2, 8, 8}, GroupShape{4, 4, 1, 1}, GroupShape{64, 8, 8, 8}}) {
    const CallShape call{CollectiveKind::all_to_all, group, 2'000'000};
    CAPTURE(group.members);
    CHECK(nic_efficiency(call, cluster) == 0.5);
    CHECK(outside_fit(call, cluster).empty());
    CHECK(extrapolated_fit(call, cluster) == fmt::format("{} ranks (fitted for 32)", group.members));
    const double doublings = std::abs(std::log2(group.members / 32.0));
    CHECK(*overhead_of(call, cluster).held_out->from_1mib == doctest::Approx(std::hypot(0.02, 0.1 * doublings)));
  }
  const CallShape measured{CollectiveKind::all_to_all, {32, 4, 8, 8}, 2'000'000};
  CHECK(extrapolated_fit(measured, cluster).empty());
  CHECK(*overhead_of(measured, cluster).held_out->from_1mib == 0.02);
  const CallShape small{CollectiveKind::all_to_all, {16, 2, 8, 8}, 800};  // of a size that was not measured, too
  CHECK(extrapolated_fit(small, cluster) == "16 ranks (fitted for 32), 800 B (fitted from 977 KiB on)");
  CHECK(outside_fit(small, cluster).empty());
  const CallShape large{CollectiveKind::all_to_all, {16, 2, 8, 8}, 2'000'000'000};
  CHECK(extrapolated_fit(large, cluster).empty());
  CHECK(outside_fit(large, cluster) == "16 ranks (fitted for 32)");
}

// No time jumps where what was measured ends: the fit goes over into what the cluster said before, the smaller the
// call.
TEST_CASE("calls smaller than all that a calibration measured mix its constants with those before it") {
  std::string yaml = fitted_for_32("switch");
  const std::string range = "holds_for: {bytes_from: \"1 MB\"";
  yaml.replace(
      yaml.find(range), range.size(),
      "held_out: {rows: 9, from_64kib: 0.02}, before: {start: 16 ms, per_remote_peer: 0 s, nic_efficiency: 0.8, "
      "holds_for: {ranks_to: 64, bytes_to: \"3 GB\"}}, " +
          range);
  const Cluster cluster = cluster_from(yaml);
  const double fitted = 4, before = 16 + .0025;  // ms; the latency of the NIC is within the fitted start
  CHECK(start_ms(cluster, 32, 1'000'000) == doctest::Approx(fitted));
  CHECK(start_ms(cluster, 32, 999'936) == doctest::Approx(fitted).epsilon(1e-3));
  CHECK(start_ms(cluster, 32, 32) == doctest::Approx(before).epsilon(.2));
  const CallShape sixteenth{CollectiveKind::all_to_all, {32, 4, 8, 8}, 62'500};
  const OverheadSpec taken = overhead_of(sixteenth, cluster);
  CHECK(taken.start.ms() == doctest::Approx(9));  // (2 + 4)^2 / 4: the roots of both count alike
  CHECK(*taken.nic_efficiency == doctest::Approx(std::sqrt(.5 * .8)));
  CHECK(*taken.held_out->below_64kib == doctest::Approx(std::hypot(.02, .18 * 15 / 16)));
  CHECK(extrapolated_fit(sixteenth, cluster) == "61 KiB (fitted from 977 KiB on)");
  double last = 0;
  for (std::int64_t bytes = 8; bytes < 1'000'000; bytes *= 2) {
    const double start = overhead_of({CollectiveKind::all_to_all, {32, 4, 8, 8}, bytes}, cluster).start.ms();
    CHECK((last == 0 || start < last));
    last = start;
  }
  const CallShape beyond{CollectiveKind::all_to_all, {32, 4, 8, 8}, 2'000'000'000};
  CHECK(overhead_of(beyond, cluster).start.ms() == 16);
  CHECK(taken_outside_fit(beyond, cluster) == "the constants before the calibration");
  const CallShape many{CollectiveKind::all_to_all, {128, 16, 8, 8}, 2'000'000'000};  // twice what those before hold for
  CHECK(overhead_of(many, cluster).start.ms() == 16);  // the default is shorter, and no larger group is faster
  const CallShape larger{CollectiveKind::all_to_all, {32, 4, 8, 8}, 4'000'000'000};  // nor do those before it hold
  CHECK(overhead_of(larger, cluster).start.us() == doctest::Approx(60));
  CHECK(taken_outside_fit(larger, cluster) == "the public defaults");
  // With more ranks than either was fitted for, sizes go on as they do with those that were measured.
  last = 0;
  for (std::int64_t bytes = 1'024; bytes <= 1'024'000; bytes *= 2) {
    const double start = overhead_of({CollectiveKind::all_to_all, {256, 32, 8, 8}, bytes}, cluster).start.ms();
    CHECK((last == 0 || start < last));
    last = start;
  }
}

TEST_CASE("a fitted efficiency of relays says which calls it was not fitted for") {
  const std::string range =
      "nvb_holds_for: {bytes_from: \"400 MiB\", ranks_from: 8, ranks_to: 8, nvlink: mesh}, relay:";
  std::string yaml = cube_mesh(2);
  yaml.replace(yaml.find("relay:"), 6, range);
  const Cluster cluster = cluster_from(yaml);
  const auto why = [&](const std::vector<int>& ranks, std::int64_t bytes,
                       CollectiveKind kind = CollectiveKind::all_to_all) {
    return outside_relay_fit({kind, group_shape(ranks, cluster), bytes}, ranks, cluster);
  };
  CHECK(why(ranks_from(0, 8), 500'000'000).empty());
  CHECK(why(ranks_from(0, 8), kMiB) == "1 MiB (fitted from 400 MiB on)");
  CHECK(why({0, 1, 7}, 500'000'000) == "3 ranks (fitted for 8)");
  CHECK(why({0, 1}, 1'000).empty());                                        // linked: nothing is relayed
  CHECK(why(ranks_from(0, 16), 1'000).empty());                             // the NICs bind
  CHECK(why(ranks_from(0, 8), 1'000, CollectiveKind::all_reduce).empty());  // rings over direct links
  const CollectivePrediction prediction =
      predict_collective({CollectiveKind::all_to_all, kMiB, nullptr, ranks_from(0, 8), {}}, cluster);
  CHECK(prediction.outside_relay_fit == "1 MiB (fitted from 400 MiB on)");
}

TEST_CASE("the size of an uneven exchange is that of its busiest rank") {
  const Cluster cluster = cluster_from(fitted_for_32("switch"));
  ByteMatrix matrix;
  matrix.kind = ByteMatrix::Kind::by_source;
  matrix.units.assign(32, 1000);
  matrix.units[5] = 2'000'000;
  CHECK(call_shape({CollectiveKind::all_to_all, ranks_from(0, 32), &matrix, 0}, cluster).bytes == 2'000'000);
  CHECK(all_to_all(cluster, ranks_from(0, 32), matrix).start.ms() == doctest::Approx(4));
}

TEST_CASE("NIC efficiency is what the file states, or what PCIe or the graph lets through") {
  CHECK(share_of_nics(CollectiveKind::all_to_all, true, cluster_from(overheads("{}"))) == doctest::Approx(0.90));
  CHECK(share_of_nics(CollectiveKind::all_reduce, true, cluster_from(overheads("{nic_efficiency: 0.7663}"))) ==
        doctest::Approx(0.7663));
  // PCIe Gen4 x16 moves 24 GB/s into a NIC of 25: 192 of 200 over eight.
  CHECK(share_of_nics(CollectiveKind::all_reduce, true, cluster_from(overheads("{}"))) == doctest::Approx(0.96));
  const std::string graph = "graph: {multi_node: {channels: 8, bw_intra: \"20 GB/s\", bw_inter: \"20 GB/s\"}}\n";
  CHECK(share_of_nics(CollectiveKind::all_reduce, true, cluster_from(overheads("{}") + graph)) == doctest::Approx(0.8));
  CHECK(share_of_nics(CollectiveKind::all_reduce, false, cluster_from(overheads("{}") + graph)) == 1);
}

TEST_CASE("efficiency raises what a load takes of the NIC, not its bytes") {
  const Cluster cluster =
      cluster_from(overheads("{start: \"0 s\", per_remote_peer: \"0 s\", nic_efficiency: 0.5}", "all_to_all"));
  const CollectiveLoads loads = all_to_all(cluster, ranks_from(0, 32), even_matrix(32'000'000));
  const LinkId out = cluster.nic_out(0, 0);
  CHECK(bytes_on(loads, out) == 24'000'000);
  for (const LinkLoad& load : loads.loads)
    if (load.link == out) CHECK(load.occupancy == doctest::Approx(48'000'000));
  CHECK(cluster.links()[loads.bottleneck(cluster)].rate.bytes_per_second == doctest::Approx(25e9));
  CHECK((loads.alone(cluster) - loads.start).value == doctest::Approx(48e6 / 25e9));
}

TEST_CASE("algorithms are listed in alphabetical order, each with a line of help") {
  const auto entries = collective_algorithms();
  REQUIRE(entries.size() == 5);
  for (std::size_t i = 0; i + 1 < entries.size(); ++i) CHECK(entries[i].name < entries[i + 1].name);
  for (const auto& entry : entries) CHECK_FALSE(entry.help.empty());
}

TEST_CASE("wrong calls say what is wrong and what to do") {
  const Cluster cluster = cluster_from(toy_2x4());
  const ByteMatrix matrix = even_matrix(8);
  const CollectiveCall exchange{CollectiveKind::all_to_all, {0, 1}, &matrix, 0};
  CHECK(message_of(exchange, cluster, "dirct").find("direct") != std::string::npos);
  CHECK(message_of(exchange, cluster, "ring").find("cannot do all_to_all") != std::string::npos);
  CHECK(message_of({CollectiveKind::all_reduce, {0, 1}, nullptr, 8}, cluster, "direct").find("ring") !=
        std::string::npos);
  CHECK(message_of({CollectiveKind::all_reduce, {0, 8}, nullptr, 8}, cluster, "auto").find("rank 8") !=
        std::string::npos);
  CHECK(message_of({CollectiveKind::all_reduce, {-1, 3}, nullptr, 8}, cluster, "auto").find("rank -1") !=
        std::string::npos);
  CHECK(message_of({CollectiveKind::all_reduce, {3, 3}, nullptr, 8}, cluster, "auto").find("twice") !=
        std::string::npos);
  CHECK(message_of({CollectiveKind::all_reduce, {0, 3}, nullptr, -8}, cluster, "auto").find("below 0") !=
        std::string::npos);
  CHECK(message_of({CollectiveKind::all_to_all, {0, 1}, nullptr, 0}, cluster, "auto").find("byte matrix") !=
        std::string::npos);
  const ByteMatrix narrow{ByteMatrix::Kind::by_destination, 1, {1, 2, 3}, {}, false};
  CHECK(message_of({CollectiveKind::all_to_all, {0, 1}, &narrow, 0}, cluster, "auto").find("byte matrix") !=
        std::string::npos);
  const ByteMatrix huge{ByteMatrix::Kind::by_destination, std::int64_t{1} << 40, {std::int64_t{1} << 52, 1}, {}, false};
  CHECK(message_of({CollectiveKind::all_to_all, {0, 1}, &huge, 0}, cluster, "auto").find("2^53") != std::string::npos);
  const ByteMatrix negative{ByteMatrix::Kind::dense, 1, {}, {{0, 1}, {-1, 0}}, false};
  CHECK(message_of({CollectiveKind::all_to_all, {0, 1}, &negative, 0}, cluster, "auto").find("below 0") !=
        std::string::npos);
}

TEST_CASE("auto is never slower than any algorithm of that kind") {
  const Cluster cluster = cluster_from(two_tier(4));
  for (std::int64_t bytes : {1'000LL, 1'000'000LL, 1'000'000'000LL})
    for (const auto& ranks : {ranks_from(0, 32), ranks_from(0, 8), ranks_from(3, 4, 8), std::vector<int>{0, 1, 9}}) {
      const Seconds chosen = reduction(cluster, ranks, bytes, "auto").alone(cluster);
      for (const char* name : {"ring", "tree", "two_level"})
        CHECK(chosen <= reduction(cluster, ranks, bytes, name).alone(cluster));
    }
}

TEST_CASE("a group of one or none moves nothing and takes no time") {
  const Cluster cluster = cluster_from(toy_2x4());
  for (const auto& ranks : {std::vector<int>{}, std::vector<int>{3}}) {
    CHECK(all_to_all(cluster, ranks, even_matrix(100)).alone(cluster).value == 0);
    for (const char* name : {"ring", "tree", "two_level", "auto"}) {
      const CollectiveLoads loads = reduction(cluster, ranks, 100, name);
      CHECK(loads.loads.empty());
      CHECK(loads.alone(cluster).value == 0);
      CHECK(loads.bottleneck(cluster) == -1);
    }
  }
}

TEST_CASE("a NIC that outruns the PCIe slot of its GPU is no faster than the slot") {
  const auto across = [](const std::string& rate) {
    const Cluster cluster = cluster_from(fmt::format(R"(schema: shardsim.cluster/1
name: slots
nodes: 2
gpu: {{model: x, count: 8, compute_capability: "8.0", hbm: "40 GiB", hbm_bandwidth: "1555 GB/s", flops: {{fp32: "19.5 TFLOP/s"}}}}
nvlink: {{kind: switch, links_per_gpu: 12}}
pcie: {{generation: 4}}
nics: {{per_gpu: 1, rate: "{}"}}
overheads: {{all_to_all: {{across_nodes: {{nic_efficiency: 1}}}}}}
)",
                                                     rate));
    return all_to_all(cluster, ranks_from(0, 16), even_matrix(64 << 20)).alone(cluster).value;
  };
  const double off_node = 0.5 * (64 << 20);  // of each rank, to the other node
  CHECK(across("400 Gbit/s") >= off_node / 31.51e9);
  CHECK(across("400 Gbit/s") < across("200 Gbit/s"));
  CHECK(across("800 Gbit/s") == doctest::Approx(across("400 Gbit/s")));
}

}  // namespace shardsim::collective_test
