#include "models/collective/fitted_overheads.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/tree/tree_editor.h"
#include "models/collective/collective_prediction.h"
#include "tests/models/collective/nccl/nccl_machines.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim::fitted_overheads_test {

using namespace shardsim::test;

namespace {

ClusterSpec spec_from(const std::string& yaml) {
  return read_cluster(parse_yaml(yaml, "test"));
}

FitTable one_row(FittedOverhead row) {
  return {"test", "a test", {std::move(row)}};
}

// A file holds the values in another order than they were filled in.
ClusterSpec with_sorted_sources(ClusterSpec spec) {
  std::sort(spec.sources.begin(), spec.sources.end(),
            [](const SourcedValue& a, const SourcedValue& b) { return a.path < b.path; });
  return spec;
}

double seconds(const ClusterSpec& spec, CollectiveKind kind, std::int64_t bytes) {
  const Cluster cluster(spec);
  return predict_collective({kind, bytes, nullptr, ranks_from(0, cluster.world_size()), {}}, cluster).time.value;
}

}  // namespace

TEST_CASE("without the key nothing fitted is used") {
  const ClusterSpec plain = spec_from(a100(2));
  CHECK(with_fits(plain) == plain);
  CHECK(plain.fits == "none");
}

TEST_CASE("fitted values fill in what the file does not state, and say so") {
  const ClusterSpec spec = with_fits(spec_from(a100(2) + "fits: open_data\n"));
  const OverheadSpec& across = spec.overheads.at("all_to_all").across_nodes;
  CHECK(across.nic_efficiency == doctest::Approx(.848));
  CHECK(spec.overheads.at("all_reduce").across_nodes.efficiency == doctest::Approx(.96));
  CHECK_FALSE(spec.overheads.at("all_reduce").across_nodes.plateau);
  REQUIRE_FALSE(spec.sources.empty());
  for (const SourcedValue& value : spec.sources) {
    CHECK(value.fitted);
    CHECK_FALSE(value.fitted_on.empty());
  }
  CHECK(with_sorted_sources(spec_from(write_cluster(spec))) == with_sorted_sources(spec));
}

TEST_CASE("the NICs and the network choose, and the GPUs beside a NIC have no say") {
  const auto nic_efficiency = [](const std::string& yaml) {
    return *with_fits(spec_from(yaml + "fits: open_data\n")).overheads.at("all_to_all").across_nodes.nic_efficiency;
  };
  CHECK(nic_efficiency(h100(2)) == doctest::Approx(.967));
  for (const char* const capability : {"7.0", "8.0", "9.0", "10.0"}) {
    CHECK(nic_efficiency(single(2, capability, 5, "100 Gbit/s")) == doctest::Approx(.848));
    CHECK(nic_efficiency(single(2, capability, 5, "200 Gbit/s")) == doctest::Approx(.848));
    CHECK(nic_efficiency(single(2, capability, 5, "400 Gbit/s")) == doctest::Approx(.967));
    CHECK(nic_efficiency(single(2, capability, 5, "800 Gbit/s")) == doctest::Approx(.967));
  }
  CHECK(nic_efficiency(a100(2, 8, "per_gpu: 1, rate: \"200 Gbit/s\", transport: slingshot")) == doctest::Approx(.4));
  CHECK(nic_efficiency(a100(2, 8, "per_gpu: 1, rate: \"200 Gbit/s\", transport: tcp")) == 1);
  CHECK(nic_efficiency(a100(2, 8, "per_gpu: 1, rate: \"200 Gbit/s\", transport: efa")) == doctest::Approx(.90));
  CHECK(network_of(spec_from(a100(1)), false) == "nvswitch");
  CHECK(network_of(spec_from(v100_cube()), false) == "mesh");
  CHECK(network_of(spec_from(single(2, "8.0", 4, "200 Gbit/s")), false) == "pcie");
}

// A share of the line rate would fall with it, and be multiplied with what NCCL reckons with, which does not rise.
TEST_CASE("what the NICs of a node carry over TCP is the same whatever their rate and number") {
  const auto over_tcp = [](const std::string& rate) {
    return with_fits(spec_from(a100(2, 8, "per_gpu: 1, rate: \"" + rate + "\", transport: tcp, latency: 0 s") +
                               "fits: open_data\n"));
  };
  CHECK(over_tcp("200 Gbit/s").overheads.at("all_to_all").across_nodes.nic_rate == Bandwidth{6.5e9 / 8});
  const ClusterSpec two_nics = with_fits(
      spec_from(a100(2, 8, "shared_by: 4, rate: \"200 Gbit/s\", transport: tcp, latency: 0 s") + "fits: open_data\n"));
  CHECK(two_nics.overheads.at("all_to_all").across_nodes.nic_rate == Bandwidth{3.25e9});
  CHECK(over_tcp("200 Gbit/s").overheads.at("all_reduce").across_nodes.efficiency == 1);
  const std::vector<std::pair<CollectiveKind, double>> carried = {{CollectiveKind::all_reduce, 4.5e9},
                                                                  {CollectiveKind::all_gather, 3.5e9},
                                                                  {CollectiveKind::reduce_scatter, 3.5e9}};
  for (const auto& each : carried) {
    const CollectiveKind kind = each.first;
    const double rate = each.second;
    CAPTURE(collective_kind_name(kind));
    const double slow = seconds(over_tcp("100 Gbit/s"), kind, 1 << 30);
    for (const char* faster : {"200 Gbit/s", "400 Gbit/s", "800 Gbit/s", "3200 Gbit/s"})
      CHECK(seconds(over_tcp(faster), kind, 1 << 30) <= slow * (1 + 1e-9));
    // All NICs of a node carry what a ring sends out of it, 2 (n - 1) / n or (n - 1) / n of the bytes.
    CHECK(seconds(over_tcp("800 Gbit/s"), kind, 1 << 30) >= bus_factor(kind, 16) * (1 << 30) / rate);
  }
}

TEST_CASE("the channels of a pair over an NVSwitch have the rate of the GPUs' clock") {
  const auto rate = [](const std::string& capability, const std::string& nvlink) {
    const ClusterSpec spec = with_fits(spec_from(header(1) + gpu_line(8, capability) + "fits: open_data\n" + nvlink));
    const auto channel = spec.overheads.at("send_recv").in_node.channel_rate;
    return channel ? channel->bytes_per_second * 1e-9 : 0;
  };
  const std::string by_switch = "nvlink: {kind: switch, links_per_gpu: 12}\n";
  CHECK(rate("8.0", by_switch) == doctest::Approx(14.5).epsilon(.01));
  CHECK(rate("9.0", by_switch) == doctest::Approx(20.4).epsilon(.01));
  CHECK(rate("9.0", "") == 0);
  CHECK(rate("6.0", by_switch) == 0);
}

// The constant is listed as a fit only where some pair of GPUs copies through host memory, and never in place of the
// file's.
TEST_CASE("the share of copies through host memory is filled in where there are any") {
  const auto filled = [](const std::string& pcie) {
    return with_fits(spec_from(header(1) + gpu_line(4) + "fits: open_data\n" + pcie));
  };
  const ClusterSpec copies = filled("pcie: {cpu: {vendor: intel}}\n");
  CHECK(copies.pcie.host_copy_efficiency == .656);
  const auto says = [](const SourcedValue& value) { return value.path == "pcie.host_copy_efficiency"; };
  const auto said = std::ranges::find_if(copies.sources, says);
  REQUIRE(said != copies.sources.end());
  CHECK(said->fitted);
  CHECK(said->fitted_on.size() == 3);
  CHECK(filled("pcie: {host_copy_efficiency: 0.5, cpu: {vendor: intel}}\n").pcie.host_copy_efficiency == .5);
  for (const char* none : {"pcie: {p2p_level: sys}\n", "nvlink: {kind: switch, links_per_gpu: 12}\n"}) {
    const ClusterSpec spec = filled(none);
    CHECK_FALSE(spec.pcie.host_copy_efficiency);
    CHECK(std::ranges::none_of(spec.sources, says));
  }
}

TEST_CASE("copies through host memory are a guess where neither the file nor a fit states their share") {
  const std::string cards = header(1) + gpu_line(4), copies = "pcie: {cpu: {vendor: intel}}\n";
  const auto noted = [](const ClusterSpec& spec) {
    return std::ranges::any_of(cluster_notes(spec), [](const std::string& note) {
      return note.find("copy through host memory") != std::string::npos && note.find("0.66") != std::string::npos;
    });
  };
  const ClusterSpec guess = spec_from(cards + copies);
  CHECK(guesses_host_copies(guess));
  CHECK(noted(guess));
  for (const std::string& known :
       {copies + "fits: open_data\n", std::string("pcie: {host_copy_efficiency: 0.5, cpu: {vendor: intel}}\n"),
        std::string("pcie: {p2p_level: sys}\n"), copies + "nvlink: {kind: switch, links_per_gpu: 12}\n"}) {
    const ClusterSpec spec = with_fits(spec_from(cards + known));
    CHECK_FALSE(guesses_host_copies(spec));
    CHECK_FALSE(noted(spec));
  }
}

// Whatever the network, constants of groups of up to 128 ranks are not dropped at the next one.
TEST_CASE("no reduction over any network gets faster by a node beyond the ranks of its constants") {
  for (const char* transport : {"infiniband", "roce", "tcpx", "tcp", "slingshot"}) {
    CAPTURE(transport);
    const auto us = [&](int nodes) {
      const std::string nic = fmt::format("per_gpu: 1, rate: \"200 Gbit/s\", transport: {}", transport);
      const Cluster cluster(with_fits(spec_from(a100(nodes, 8, nic) + "fits: open_data\n")));
      return reduction(cluster, ranks_from(0, 8 * nodes), 64 << 20, "auto").alone(cluster).us();
    };
    CHECK(us(17) >= us(16) * (1 - 1e-9));
    CHECK(us(18) >= us(17) * (1 - 1e-9));
  }
}

TEST_CASE("over GPUDirect-TCPX reductions and gathers have constants of its own systems") {
  const ClusterSpec spec =
      with_fits(spec_from(a100(2, 8, "per_gpu: 1, rate: \"200 Gbit/s\", transport: tcpx") + "fits: open_data\n"));
  CHECK(spec.overheads.at("all_reduce").across_nodes.start == Seconds{90e-6});
  CHECK(spec.overheads.at("reduce_scatter").across_nodes.fill == Seconds{256e-6});
  CHECK(spec.overheads.at("all_to_all").across_nodes == default_overhead("all_to_all", true));
}

TEST_CASE("a limit that is a rate of its own binds a broken NIC no more than a sound one") {
  const auto with_half_a_nic = [](const std::string& more) {
    return seconds(spec_from(a100(2, 8, "per_gpu: 1, rate: \"400 Gbit/s\"") + more), CollectiveKind::all_to_all,
                   1 << 30);
  };
  const std::string limit = "overheads: {all_to_all: {across_nodes: {nic_rate: 10 GB/s}}}\n";
  CHECK(with_half_a_nic(limit) == with_half_a_nic(limit + "faults: [{node: 0, nic: 0, rate_factor: 0.5}]\n"));
}

// The constants are the rule of the fit (models/collective/fitted_overheads.cpp), not what a prediction has to be.
TEST_CASE("the fill of NVLS is filled in where there is NVLS, and counts for no ring") {
  const auto all_reduce = [](const std::string& name, const std::string& algorithm) {
    ClusterSpec spec = read_cluster(read_yaml_file(SHARDSIM_SOURCE_DIR "/scenarios/clusters/" + name + ".yaml"));
    spec.nodes = 2;
    spec.forced.algorithm = algorithm;
    return with_fits(spec);
  };
  CHECK(all_reduce("hgx_h100_8x400g", "").overheads.at("all_reduce").across_nodes.nvls_fill == Seconds{4e-6});
  CHECK_FALSE(all_reduce("pcie_rtx6000d", "").overheads.at("all_reduce").across_nodes.nvls_fill);
  CHECK_FALSE(all_reduce("dgx_a100_80gb", "").overheads.at("all_reduce").across_nodes.nvls_fill);
  const auto adds = [&](const std::string& algorithm) {
    const ClusterSpec with = all_reduce("hgx_h100_8x400g", algorithm);
    ClusterSpec without = with;
    without.overheads.at("all_reduce").across_nodes.nvls_fill.reset();
    return seconds(with, CollectiveKind::all_reduce, kGiB) - seconds(without, CollectiveKind::all_reduce, kGiB);
  };
  CHECK(adds("Ring") == 0);
  CHECK(adds("Tree") == 0);
  CHECK(adds("NVLSTree") > 0);
}

TEST_CASE("gathers in a node of H100 have constants of such nodes, and over its NICs those of all") {
  const ClusterSpec spec =
      with_fits(read_cluster(read_yaml_file(SHARDSIM_SOURCE_DIR "/scenarios/clusters/hgx_h100_8x400g.yaml")));
  for (const char* kind : {"all_gather", "reduce_scatter"}) {
    CHECK(spec.overheads.at(kind).in_node.fill < .1 * spec.overheads.at(kind).across_nodes.fill);
    CHECK(with_fits(spec_from(a100(2) + "fits: open_data\n")).overheads.at(kind).in_node.fill == Seconds{1e-6});
  }
}

TEST_CASE("B200 and H100 with the same NICs have the same constants between nodes, and in a node those of the GPUs") {
  const auto shipped = [](const std::string& name) {
    return with_fits(read_cluster(read_yaml_file(SHARDSIM_SOURCE_DIR "/scenarios/clusters/" + name + ".yaml")));
  };
  const ClusterSpec b200 = shipped("hgx_b200_8x400g"), h100 = shipped("hgx_h100_8x400g");
  for (const auto& [kind, reaches] : b200.overheads) {
    CHECK(reaches.across_nodes == h100.overheads.at(kind).across_nodes);
    const bool reduces = kind == "all_reduce";
    CHECK((reaches.in_node == h100.overheads.at(kind).in_node) == !reduces);
  }
  CHECK(b200.overheads.at("all_reduce").in_node.fill == Seconds{4e-6});
  CHECK(h100.overheads.at("all_reduce").in_node.fill == Seconds{.2e-6});
  CHECK(b200.overheads.at("all_reduce").in_node.holds_for->ranks_to == 72);
  CHECK(h100.overheads.at("all_reduce").in_node.holds_for->ranks_to == 8);
  CHECK(b200.p2p == h100.p2p);
  CHECK(b200.launch_overhead == h100.launch_overhead);
}

TEST_CASE("what the file states stands") {
  const ClusterSpec spec = with_fits(
      spec_from(a100(2) + "fits: open_data\noverheads: {all_to_all: {across_nodes: {nic_efficiency: 0.5}}}\n"));
  CHECK(spec.overheads.at("all_to_all").across_nodes.nic_efficiency == 0.5);
  CHECK(spec.overheads.at("all_to_all").across_nodes.start.us() == doctest::Approx(60));
  CHECK(spec.overheads.at("all_to_all").in_node.start.us() == doctest::Approx(55));
}

TEST_CASE("what the file states stands where it is the public default too, and the fit left out is said") {
  const ClusterSpec spec = with_fits(
      spec_from(a100(2) + "fits: open_data\noverheads: {all_to_all: {across_nodes: {nic_efficiency: 0.9}}}\n"));
  CHECK(spec.overheads.at("all_to_all").across_nodes == default_overhead("all_to_all", true));
  const auto notes = cluster_notes(spec);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find(
            "of its own in overheads.all_to_all.across_nodes. The fit to open measurements is not used there") !=
        std::string::npos);
  CHECK(cluster_notes(with_fits(spec_from(a100(2) + "fits: open_data\noverheads: {all_to_all: {}}\n"))).empty());
}

TEST_CASE("a written cluster leaves the fit what nobody stated") {
  const ClusterSpec plain = spec_from(a100(2) + "fits: open_data\noverheads: {send_recv: {in_node: {fill: 0 s}}}\n");
  const ClusterSpec again = spec_from(write_cluster(plain));
  CHECK(again == plain);
  CHECK(with_fits(again).overheads.at("all_to_all").across_nodes.nic_efficiency == doctest::Approx(.848));
  CHECK(with_fits(again).overheads.at("send_recv").in_node == default_overhead("send_recv", false));
}

TEST_CASE("latencies that NCCL's constants or a fitted start displace are said") {
  const auto notes = [](const std::string& fits, const std::string& latency, const std::string& more = "") {
    return cluster_notes(
        with_fits(spec_from(a100(2, 8, "per_gpu: 1, rate: \"200 Gbit/s\"" + latency) + "fits: " + fits + "\n" + more)));
  };
  CHECK(notes("open_data", "").empty());
  CHECK(notes("open_data", ", latency: 2.5 us").empty());
  REQUIRE(notes("open_data", ", latency: 100 ms").size() == 1);
  CHECK(notes("open_data", ", latency: 100 ms")[0].starts_with("nics.latency of"));
  CHECK(notes("none", ", latency: 100 ms").empty());  // counts in an all-to-all, and is the file's own
  REQUIRE(notes("none", "", "fabric: {latency: 1 ms}\n").size() == 1);
  CHECK(notes("none", "", "fabric: {kind: fat_tree, nodes_per_leaf: 1, latency: 1 ms}\n").empty());
  Tree tree = parse_yaml(a100(2), "test");
  set_path(tree, "nics.latency", parse_yaml_value("100 ms", {"test"}));
  const auto partly = cluster_notes(read_cluster(tree));
  REQUIRE(partly.size() == 1);
  CHECK(partly[0].find("no effect on all_gather, all_reduce, broadcast, reduce_scatter here") != std::string::npos);
}

TEST_CASE("an oversubscription that no traffic meets is said") {
  const auto notes = [](int nodes, int per_leaf, int oversubscription) {
    return idle_key_notes(spec_from(a100(nodes) +
                                    "fabric: {kind: fat_tree, nodes_per_leaf: " + std::to_string(per_leaf) +
                                    ", oversubscription: " + std::to_string(oversubscription) + "}\n"));
  };
  REQUIRE(notes(4, 4, 3).size() == 1);
  CHECK(notes(4, 4, 3)[0].starts_with(
      "fabric.oversubscription of 'test' has no effect here: all nodes are under one leaf"));
  CHECK(notes(5, 4, 3).empty());
  CHECK(notes(4, 4, 1).empty());
}

TEST_CASE("a choice to change NICs that stated channels do not follow is said") {
  const std::string stated = "graph: {multi_node: {channels: 8, bw_intra: 24 GB/s, bw_inter: 24 GB/s}}\n";
  const auto notes = [](const std::string& more) { return idle_key_notes(spec_from(a100(2) + more)); };
  REQUIRE(notes(stated + "nccl_settings: {cross_nic: 1}\n").size() == 1);
  CHECK(notes(stated + "nccl_settings: {cross_nic: 1}\n")[0].starts_with(
      "nccl_settings.cross_nic of 'test' has no effect on groups of whole nodes"));
  CHECK(notes("nccl_settings: {cross_nic: 1}\n").empty());
  CHECK(notes(stated).empty());
}

TEST_CASE("keys about NCCL where no NCCL times the collectives are said") {
  const std::string cpus =
      "schema: shardsim.cluster/1\nname: cpus\ndevice: cpu\ngpu: {model: x, count: 2, compute_capability: \"0.0\", "
      "hbm: "
      "1 GiB, hbm_bandwidth: 5 GB/s, flops: 5 GFLOP/s}\nnvlink: {kind: switch, links_per_gpu: 1, per_link: 1 GB/s, "
      "per_link_effective: 1 GB/s}\n";
  CHECK(cluster_notes(with_fits(spec_from(cpus))).empty());
  const auto notes = cluster_notes(with_fits(
      spec_from(cpus + "nccl: \"2.14\"\nfits: open_data\noverheads: {all_reduce: {in_node: {latency_share: 0.5}}}\n")));
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].starts_with("nccl, fits, overheads.all_reduce.in_node.latency_share of 'cpus' have no effect"));
  const auto by_loads = cluster_notes(
      spec_from(a100(2) + "overheads: {all_reduce: {across_nodes: {nic_efficiency: 0.9, efficiency: 0.8}}}\n"));
  REQUIRE(by_loads.size() == 1);
  CHECK(by_loads[0].starts_with("overheads.all_reduce.across_nodes.efficiency of"));
}

TEST_CASE("another table can stand in, as when a system is left out of its own fit") {
  FittedOverhead row;
  row.kinds = {"all_reduce"};
  row.efficiency = 0.5;
  const ClusterSpec spec = with_fits(spec_from(a100(1)), one_row(row));
  CHECK(spec.overheads.at("all_reduce").in_node.efficiency == 0.5);
  CHECK(spec.overheads.at("all_reduce").across_nodes.efficiency == 1);
}

TEST_CASE("the fit to the open data states how many GPUs it holds for, and goes over into the defaults beyond") {
  const ClusterSpec spec = with_fits(spec_from(a100(32) + "fits: open_data\n"));
  const Cluster cluster(spec);
  const auto of = [&](int nodes) {
    return overhead_of({CollectiveKind::all_to_all, {8 * nodes, nodes, 8, 8}, kMiB}, cluster);
  };
  CHECK(of(16).start.us() == doctest::Approx(55));
  CHECK(of(16).nic_efficiency == doctest::Approx(.848));
  // Without a step: one node more is little, and after one doubling both count alike, by the root of a time.
  CHECK(of(17).start.us() == doctest::Approx(55).epsilon(.01));
  CHECK(of(17).per_remote_peer.us() == doctest::Approx(1).epsilon(.2));
  CHECK(of(32).nic_efficiency == doctest::Approx(.848));  // the default is .9, and no larger group is faster
  CHECK(of(32).per_remote_peer.us() == doctest::Approx(std::pow((1 + std::sqrt(5)) / 2, 2)));
}

// Nor does a calibration to what the shipped constants predict change what is predicted far beyond either.
TEST_CASE("a calibration goes over into the defaults beyond the ranks of the constants before it as they do") {
  const ClusterSpec shipped = with_fits(spec_from(a100(64) + "fits: open_data\n"));
  ClusterSpec calibrated = shipped;
  OverheadSpec& stated = calibrated.overheads.at("all_to_all").across_nodes;
  stated.before = stated;
  stated.held_out = HeldOutCalls{20, .01, .01, .01, .01};
  stated.holds_for->ranks_to = 16;
  for (const int nodes : {2, 16, 17, 32, 64}) {
    const CallShape call{CollectiveKind::all_to_all, {8 * nodes, nodes, 8, 8}, kMiB};
    const OverheadConstants was = overhead_of(call, shipped), is = overhead_of(call, calibrated);
    CAPTURE(nodes);
    CHECK(is.per_remote_peer.us() == doctest::Approx(was.per_remote_peer.us()));
    CHECK(is.start.us() == doctest::Approx(was.start.us()));
    CHECK(is_guessed_beyond(call, calibrated) == (nodes > 16));
    CHECK(taken_beyond_fit(call, calibrated).starts_with(nodes > 16 ? "a mix of them" : "what was fitted"));
  }
}

TEST_CASE("a network that no accuracy is claimed for says so, with how far published times were off") {
  const auto notes = [](const std::string& nics, int nodes = 2) {
    return cluster_notes(with_fits(spec_from(a100(nodes, 8, "per_gpu: 1, rate: \"200 Gbit/s\", " + nics))));
  };
  REQUIRE(notes("transport: slingshot").size() == 1);
  CHECK(notes("transport: slingshot")[0].find("Slingshot, for which no accuracy is claimed") != std::string::npos);
  CHECK(notes("transport: slingshot")[0].find("Polaris") != std::string::npos);
  CHECK(notes("transport: tcp")[0].find("a median factor of 1.4 (ALCF Polaris) and 1.2") != std::string::npos);
  CHECK(notes("transport: efa")[0].find("no published collective") != std::string::npos);
  CHECK(notes("transport: infiniband").empty());
  CHECK(notes("transport: roce").empty());
  CHECK(notes("transport: slingshot", 1).empty());
  REQUIRE(notes("transport: roce, rate_basis: inferred").size() == 1);
  CHECK(notes("transport: roce, rate_basis: inferred")[0].find("inferred, not published") != std::string::npos);
}

// 400 Gbit/s are 50 GB/s: the lanes of PCIe 4.0 x16 carry 31.5, of which NCCL's search counts 24.
TEST_CASE("a NIC faster than its slot is said, with what reductions and exchanges take of it") {
  const auto notes = [](const std::string& rate) {
    return cluster_notes(with_fits(spec_from(a100(2, 8, "per_gpu: 1, rate: \"" + rate + "\"") + "fits: open_data\n")));
  };
  CHECK(notes("200 Gbit/s").empty());
  REQUIRE(notes("400 Gbit/s").size() == 1);
  CHECK(notes("400 Gbit/s")[0].find("assumes 24 GB/s for a slot") != std::string::npos);
  CHECK(notes("400 Gbit/s")[0].find("up to 1.31 times") != std::string::npos);
  const auto seconds = [](const std::string& rate, CollectiveKind kind) {
    const Cluster cluster(with_fits(spec_from(a100(2, 8, "per_gpu: 1, rate: \"" + rate + "\"") + "fits: open_data\n")));
    return predict_collective({kind, kGiB, nullptr, ranks_from(0, 16), {}}, cluster).time.value;
  };
  CHECK(seconds("400 Gbit/s", CollectiveKind::all_reduce) ==
        doctest::Approx(seconds("800 Gbit/s", CollectiveKind::all_reduce)));
  CHECK(seconds("400 Gbit/s", CollectiveKind::all_to_all) ==
        doctest::Approx(seconds("800 Gbit/s", CollectiveKind::all_to_all)));
}

TEST_CASE("fits that state no range and keys without effect are said") {
  const std::string fitted =
      "overheads: {all_to_all: {across_nodes: {start: {value: \"1 ms\", source: mine, fitted: true}}}}\n";
  const auto notes = cluster_notes(spec_from(a100(2) + fitted));
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("overheads.all_to_all.across_nodes do not state for which sizes") != std::string::npos);
  ClusterSpec fits = spec_from(cube_mesh(1));
  fits.sources = {{"gpu.copy_bandwidth", "1 TB/s", "mine", true, {}, 0, {}},
                  {"nvlink.nvb_efficiency", "0.7", "mine", true, {}, 0, {}}};
  REQUIRE(cluster_notes(fits).size() == 1);
  CHECK(cluster_notes(fits)[0].find("in gpu, nvlink.nvb_efficiency do not state for which sizes") != std::string::npos);
  fits.gpu.holds_for = WorkRange{};
  fits.nvlink.nvb_holds_for = FitRange{};
  CHECK(cluster_notes(fits).empty());
  ClusterSpec spec = spec_from(a100(2));
  spec.gpu.launch_overhead = {9e-6};
  spec.gpu.l2_bandwidth = {1e12};
  REQUIRE(cluster_notes(spec).size() == 2);
  CHECK(cluster_notes(spec)[0].find("Set software.launch") != std::string::npos);
  CHECK(cluster_notes(spec)[1].find("has an effect with the compute model gpu_kernels alone") != std::string::npos);
}

TEST_CASE("fits for groups of another size than all nodes are said, with what is taken there") {
  const auto notes = [](int nodes, const std::string& held_out) {
    return fit_reach_notes(spec_from(a100(nodes) + "overheads: {all_gather: {across_nodes: {fill: 4 us, " + held_out +
                                     "holds_for: {ranks_from: 16, ranks_to: 32}}}}\n"));
  };
  CHECK(notes(2, "").empty());
  REQUIRE(notes(8, "").size() == 1);
  CHECK(notes(8, "")[0].ends_with(
      " are fitted for groups of 16 to 32 ranks, and all nodes together are 64: such groups take a mix of them with "
      "the "
      "public defaults, half and half after each doubling of the ranks, with wider intervals."));
  CHECK(notes(8, "held_out: {rows: 9, from_1mib: 0.02}, ")[0].ends_with(
      "such groups take what was fitted for the nearest size, extrapolated, with wider intervals."));
  CHECK(notes(1, "").empty());
}

// The time of the bytes of 1 GiB in one node is 7/8 B / 240 GB/s; a fill of 4 us adds 2 sqrt(4 us x that).
TEST_CASE("a pipeline's fill grows with the square root of the bytes") {
  FittedOverhead row;
  row.kinds = {"all_gather", "all_to_all"};
  row.fill = Seconds{4e-6};
  const ClusterSpec plain = spec_from(a100(1)), filled = with_fits(plain, one_row(row));
  const double bytes = 7. / 8 * kGiB / 240e9;
  for (CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all})
    CHECK(seconds(filled, kind, kGiB) - seconds(plain, kind, kGiB) == doctest::Approx(2 * std::sqrt(4e-6 * bytes)));
}

// 286.16 us of latency hold the plateau's 1.4.
TEST_CASE("the plateau and a share of the latency can be taken out of the time") {
  FittedOverhead row;
  row.kinds = {"all_reduce"};
  row.across_nodes = true;
  row.plateau = false;
  const ClusterSpec plain = spec_from(a100(2)), lower = with_fits(plain, one_row(row));
  const auto difference = [&](const ClusterSpec& spec, std::int64_t bytes) {
    return 1e6 * (seconds(plain, CollectiveKind::all_reduce, bytes) - seconds(spec, CollectiveKind::all_reduce, bytes));
  };
  CHECK(difference(lower, kGiB) == doctest::Approx(286.16 * (1 - 1 / 1.4)));
  CHECK(difference(lower, kMiB) == doctest::Approx(0));
  const ClusterSpec half = spec_from(a100(2) + "overheads: {all_reduce: {across_nodes: {latency_share: 0.5}}}\n");
  CHECK(difference(half, kGiB) == doctest::Approx(286.16 / 2));
}

}  // namespace shardsim::fitted_overheads_test
