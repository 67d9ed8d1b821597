#include "models/collective/fitted_overheads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <type_traits>

#include "base/fields/exact_text.h"
#include "base/text.h"
#include "models/collective/collective_kind.h"
#include "models/collective/constant_between.h"
#include "topology/graph/node_links.h"

namespace shardsim {
namespace {

constexpr int kHopper = 90;  // compute capability

// Networks other than InfiniBand and RoCE, each fitted to the two public systems that have it, on up to 8 nodes (on
// more, Polaris loses most of its all-to-all in its fabric). The rule of the fit and its errors are in
// docs/accuracy.md. The share of NCCL's latency in an all_reduce is shrunk towards NCCL's own, which counts like one
// more system: two nodes say little of the latency over hundreds. Perlmutter's smallest call takes no longer than
// NCCL's latency alone, so its constants were fitted without a launch, for which they would make up otherwise.
void add_other_networks(FitTable& table) {
  using Names = std::vector<std::string>;
  const Names reductions = {"all_reduce"}, gathers = {"all_gather", "reduce_scatter"};
  const Names peer_to_peer = {"all_to_all", "send_recv"};
  const Names slingshot = {"Polaris", "Perlmutter"}, tcp = {"Polaris over TCP", "AWS p3dn"};
  const auto row = [&](const Names& kinds, const char* network, const Names& fitted_on) -> FittedOverhead& {
    table.rows.push_back({.kinds = kinds, .across_nodes = true, .network = network, .fitted_on = fitted_on});
    return table.rows.back();
  };
  const auto ring = [](FittedOverhead& fitted, double latency_share, Seconds fill) {
    fitted.latency_share = latency_share;
    fitted.fill = fill;
  };
  FittedOverhead& reduction = row(reductions, "slingshot", slingshot);
  reduction.efficiency = .87;
  ring(reduction, 1, Seconds{32e-6});
  FittedOverhead& gather = row(gathers, "slingshot", {"Polaris"});
  gather.efficiency = 1;
  ring(gather, 2, Seconds{64e-6});
  FittedOverhead& exchange = row(peer_to_peer, "slingshot", {"Polaris"});
  exchange.start = Seconds{30e-6};
  exchange.per_remote_peer = Seconds{5e-6};
  exchange.nic_efficiency = .4;

  FittedOverhead& tcp_reduction = row(reductions, "tcp", tcp);
  tcp_reduction.node_rate = Bandwidth{4.5e9};
  ring(tcp_reduction, 2.5, Seconds{8e-6});
  FittedOverhead& tcp_gather = row(gathers, "tcp", {"Polaris over TCP"});
  tcp_gather.node_rate = Bandwidth{3.5e9};
  ring(tcp_gather, 3, Seconds{8e-6});
  FittedOverhead& tcp_exchange = row(peer_to_peer, "tcp", {"Polaris over TCP"});
  tcp_exchange.start = Seconds{10e-6};
  tcp_exchange.per_remote_peer = Seconds{15e-6};
  tcp_exchange.fill = Seconds{8e-6};
  tcp_exchange.node_rate = Bandwidth{6.5e9};
}

// Reductions and gathers over GPUDirect-TCPX and TCPXO, fitted to one all_reduce and one all_gather of two systems;
// each of them is predicted better by constants fitted to the other one than by none.
void add_tcpx(FitTable& table) {
  table.rows.push_back({.kinds = {"all_reduce", "all_gather", "reduce_scatter"},
                        .across_nodes = true,
                        .network = "tcpx",
                        .start = Seconds{90e-6},
                        .fill = Seconds{256e-6},
                        .fitted_on = {"A3 Mega", "A3 High"}});
}

// Fills of reductions and gathers. Each system has the one that meets it best (mean of the errors' sizes from 1 MiB up,
// in steps of two); a class has their geometric mean, for reductions in a node times the part (1/4 before Blackwell,
// 1/2 from it on) for which systems that are left out are predicted best (docs/accuracy.md). Two H100 nodes,
// each a system of its own, are met best by 1/8 us and by none (1/16 in the mean).
void add_fills(FitTable& table) {
  using Names = std::vector<std::string>;
  constexpr int kBlackwell = 100;
  const Names reductions = {"all_reduce"}, gathers = {"all_gather", "reduce_scatter"};
  const Names of_gathers = {"Sophia", "xxrjun cluster01", "Azure ND A100 v4"};
  const Seconds of_a_gather{1e-6};
  table.rows.push_back({.kinds = gathers, .fill = of_a_gather, .fitted_on = of_gathers});
  table.rows.push_back(
      {.kinds = gathers, .across_nodes = true, .network = "rdma", .fill = of_a_gather, .fitted_on = of_gathers});
  table.rows.push_back({.kinds = gathers,
                        .network = "nvswitch",
                        .capability_from = kHopper,
                        .fill = Seconds{.09e-6},
                        .fitted_on = {"xxrjun cluster01", "H100 1 x 8, bf16"}});
  for (const char* wiring : {"nvswitch", "mesh"})
    table.rows.push_back({.kinds = reductions,
                          .network = wiring,
                          .fill = Seconds{.2e-6},
                          .fitted_on = {"xxrjun cluster01", "Azure ND A100 v4", "8 x V100", "H100 1 x 8, bf16"}});
  table.rows.push_back({.kinds = reductions,
                        .network = "nvswitch",
                        .capability_from = kBlackwell,
                        .ranks_to = 72,
                        .fill = Seconds{4e-6},
                        .fitted_on = {"B200 1 x 8", "GB300 1 x 8 and 1 x 64", "GB200 1 x 72"}});
}

// Fitted on rows of all sizes (256 B to 17 GB) and of 2 to 16 GPUs; whole iterations on up to 128 GPUs, to which
// nothing of this was fitted, bear it out (docs/accuracy.md).
std::vector<FittedOverhead> rows_over_nvlink_and_rdma() {
  using Names = std::vector<std::string>;
  const Names peer_to_peer = {"all_to_all", "send_recv"};
  const Names of_peers = {"Sophia", "xxrjun cluster01", "Azure ND A100 v4", "RTX 6000D"};
  const Seconds fill{4e-6};    // a pipeline loses time per chunk: grows like the square root of the bytes
  const Seconds start{55e-6};  // the smallest messages over two nodes of eight take 50 to 59 us
  // NCCL raises the latency of rings above a size to prefer trees below it; the measurements do not show it as time.
  return {
      {.kinds = {"all_to_all"}, .start = start, .fill = fill, .efficiency = .989, .fitted_on = of_peers},
      {.kinds = {"send_recv"},
       .start = Seconds{45e-6},
       .fill = Seconds{0},
       .efficiency = .989,
       .fitted_on = {"xxrjun cluster01", "one 8xA100 node"}},
      {.kinds = peer_to_peer,
       .across_nodes = true,
       .start = start,
       .fill = fill,
       .efficiency = .989,
       .fitted_on = of_peers},
      {.kinds = {"all_to_all"},
       .across_nodes = true,
       .per_remote_peer = Seconds{1e-6},
       .fitted_on = {"Sophia", "RTX 6000D"}},
      {.kinds = {"all_reduce"},
       .across_nodes = true,
       .efficiency = .96,
       .plateau = false,
       .fitted_on = {"Sophia", "2 x 8 A100, 4 HDR"}},
      {.kinds = {"all_reduce"},
       .across_nodes = true,
       .nics_from = Bandwidth{50e9},
       .fill = Seconds{.5e-6},
       .efficiency = 1,
       .plateau = false,
       .fitted_on = {"2 x 8 H100", "RTX 6000D", "H100 of issue 309, rings", "GB300 2 x 64"}},
      // Rings of four systems are met best by less than 0.5 us, which changes their mean error by half a point only:
      // NCCL's latency counts each of their hops. Small calls, which are few, speak for more. Chunks of NVLSTree wait
      // for the switch on both sides of the network: the mean error over the systems that run it is least at 4 us, in
      // steps of two, with all of them and without any one that is open.
      {.kinds = {"all_reduce"},
       .across_nodes = true,
       .nics_from = Bandwidth{50e9},
       .nvls_fill = Seconds{4e-6},
       .fitted_on = {"2 x 8 H200", "H100 of issue 309, 2 and 8 nodes", "H200 2 x 8, RoCE", "B200 2 x 8"}},
      // Measured with NICs of 200 Gbit/s; slower ones have no measurement of their own.
      {.kinds = peer_to_peer,
       .across_nodes = true,
       .nic_efficiency = .848,
       .fitted_on = {"Sophia", "two A100 servers, RoCE"}},
      // Measured with NICs of 400 Gbit/s; faster ones have no measurement of their own.
      {.kinds = peer_to_peer,
       .across_nodes = true,
       .nics_from = Bandwidth{50e9},
       .nic_efficiency = .967,
       .fitted_on = {"xxrjun cluster01"}},
  };
}

// One block of threads copies what a channel sends, a few bytes in each cycle of its clock. Two systems show it where a
// pair has few channels: 33 to 134 MB between two of 4 or 8 H100 move at 20 to 21 GB/s a channel, whichever number of
// channels NCCL gives them, and 134 MB between two of eight A100 at 14, which at the highest clocks of their data
// sheets (1,980 and 1,410 MHz) is 10.7 and 10.0 bytes a cycle. The law takes the geometric mean, and other generations
// by their clocks.
void add_channels(FitTable& table) {
  constexpr double kBytesPerCycle = 10.3;
  const auto generation = [&](int capability_from, double megahertz) {
    table.rows.push_back({.kinds = {"all_to_all", "send_recv"},
                          .network = "nvswitch",
                          .capability_from = capability_from,
                          .channel_rate = Bandwidth{kBytesPerCycle * megahertz * 1e6},
                          .fitted_on = {"xxrjun cluster01", "one 8xA100 node"}});
  };
  generation(70, 1530);  // V100 SXM
  generation(80, 1410);  // A100 SXM
  generation(90, 1980);  // H100 SXM, H200 SXM; B200 has 1,965
}

// Exchanges in a node of H100. The one system with many sizes is met best without a fill, and the fill of all systems
// (4 us) is 11 % too slow for it; the other one has a single row, which can tell no fill from an efficiency. Of their
// efficiencies, 0.95 and 0.958, the geometric mean.
void add_hopper_exchanges(FitTable& table) {
  table.rows.push_back({.kinds = {"all_to_all"},
                        .network = "nvswitch",
                        .capability_from = kHopper,
                        .fill = Seconds{0},
                        .efficiency = .954,
                        .fitted_on = {"xxrjun cluster01", "4 H100"}});
}

FitTable made_open_data() {
  FitTable table{"open_data", "open measurements, docs/accuracy.md", {}};
  // No node measured has more than 8 GPUs.
  table.in_node.ranks_to = 8;
  table.across_nodes.ranks_to = 128;
  // Iterations of DLRM-DCNv2 on eight cards each, in which a socket's cards share one PCIe uplink.
  table.host_copies = .656;
  table.host_copies_fitted_on = {"A40, MLPerf v3.0", "L40, MLPerf v3.1", "L40S, MLPerf v3.1"};
  table.rows = rows_over_nvlink_and_rdma();
  for (FittedOverhead& row : table.rows)
    if (row.across_nodes) row.network = "rdma";
  add_fills(table);
  add_hopper_exchanges(table);
  add_channels(table);
  add_tcpx(table);
  add_other_networks(table);
  return table;
}

template <typename Value>
std::string text_of(const Value& value) {
  if constexpr (std::is_same_v<Value, bool>) return value ? "true" : "false";
  if constexpr (std::is_same_v<Value, double>) return shortest(value);
  if constexpr (std::is_same_v<Value, Seconds> || std::is_same_v<Value, Bandwidth>) return exact_text(value);
}

// Takes the source of a path out, and returns the systems that it was fitted on.
std::vector<std::string> without_source(std::vector<SourcedValue>& sources, const std::string& path) {
  const auto known = std::ranges::find(sources, path, &SourcedValue::path);
  if (known == sources.end()) return {};
  std::vector<std::string> systems = std::move(known->fitted_on);
  sources.erase(known);
  return systems;
}

template <typename Value>
const Value& stated_value(const Value& value) {
  return value;
}

template <typename Value>
const Value& stated_value(const std::optional<Value>& value) {
  return *value;
}

std::optional<Bandwidth> rate_of_each_nic(const FittedOverhead& row, const ClusterSpec& spec) {
  if (!row.node_rate || !spec.nics) return std::nullopt;
  return Bandwidth{row.node_rate->bytes_per_second / std::max(1, nics_of_node(spec))};
}

// NVSwitches reduce for GPUs from Hopper on.
bool has_nvls(const ClusterSpec& spec) {
  return spec.nvlink.kind == NvlinkKind::nvswitch && capability_number(spec.gpu.compute_capability) >= kHopper;
}

// Writes what a row says of one reach of one kind, and notes it in `sources`. `share`: how much of it holds.
void fill(ClusterSpec& spec, const FitTable& table, const std::string& kind, const FittedOverhead& row, double share) {
  const FitRange& range = row.across_nodes ? table.across_nodes : table.in_node;
  OverheadSpec& target = row.across_nodes ? spec.overheads[kind].across_nodes : spec.overheads[kind].in_node;
  const auto set = [&](const char* key, auto& held, const auto& value) {
    if (!value) return;
    held = share < 1 ? constant_between(held, *value, share) : *value;
    const std::string path =
        fmt::format("overheads.{}.{}.{}", kind, row.across_nodes ? "across_nodes" : "in_node", key);
    std::vector<std::string> systems = without_source(spec.sources, path);
    if (share == 1) systems.clear();
    for (const std::string& system : row.fitted_on)
      if (std::ranges::find(systems, system) == systems.end()) systems.push_back(system);
    spec.sources.push_back({path, text_of(stated_value(held)), table.source, true, systems, 0, {}});
  };
  if (range != FitRange{}) target.holds_for = range;
  if (row.ranks_to > 0 && target.holds_for) target.holds_for->ranks_to = row.ranks_to;
  if (row.start) target.beside_start = 0;
  set("start", target.start, row.start);
  set("per_remote_peer", target.per_remote_peer, row.per_remote_peer);
  set("fill", target.fill, row.fill);
  if (has_nvls(spec)) set("nvls_fill", target.nvls_fill, row.nvls_fill);
  set("efficiency", target.efficiency, row.efficiency);
  set("nic_efficiency", target.nic_efficiency, row.nic_efficiency);
  set("latency_share", target.latency_share, row.latency_share);
  set("plateau", target.plateau, row.plateau);
  set("channel_rate", target.channel_rate, row.channel_rate);
  const std::optional<Bandwidth> nic_rate = rate_of_each_nic(row, spec);
  set("nic_rate", target.nic_rate, nic_rate);
  if (nic_rate && target.nic_efficiency) target.nic_efficiency = 1;
}

// How much of a row holds for one reach of one kind on a cluster, 0 to 1.
double share_of(const FittedOverhead& row, const std::string& kind, bool across_nodes, const ClusterSpec& spec) {
  if (row.across_nodes != across_nodes || std::ranges::find(row.kinds, kind) == row.kinds.end()) return 0;
  if (!row.network.empty() && row.network != network_of(spec, across_nodes)) return 0;
  if (row.capability_from > capability_number(spec.gpu.compute_capability)) return 0;
  if (!row.nics_from) return 1;
  return spec.nics ? share_of(*row.nics_from, kind_of(*spec.nics)) : 0;
}

bool copies_through_host(const ClusterSpec& spec) {
  if (spec.nvlink.kind == NvlinkKind::nvswitch || spec.gpu.count < 2) return false;
  const NodeGraph graph = build_node_graph(spec);
  for (Vertex to = 1; to < static_cast<Vertex>(spec.gpu.count); ++to) {
    for (Vertex from = 0; from < to; ++from) {
      auto path = best_path(graph, from, to);
      if (path && path->path == PathClass::nvb && spec.nvlink.relay == RelayRule::none)
        path = pcie_path(graph, from, to);
      if (path && path->path > std::max(PathClass::nvb, direct_reach(spec))) return true;
    }
  }
  return false;
}

void fill_host_copies(ClusterSpec& spec, const FitTable& table) {
  if (!table.host_copies || spec.pcie.host_copy_efficiency || !copies_through_host(spec)) return;
  spec.pcie.host_copy_efficiency = table.host_copies;
  const std::string path = "pcie.host_copy_efficiency";
  std::erase_if(spec.sources, [&](const SourcedValue& source) { return source.path == path; });
  spec.sources.push_back({path, text_of(*table.host_copies), table.source, true, table.host_copies_fitted_on, 0, {}});
}

}  // namespace

bool guesses_host_copies(const ClusterSpec& spec) {
  return spec.device != "cpu" && !spec.pcie.host_copy_efficiency && copies_through_host(spec);
}

const FitTable& open_data_fits() {
  static const FitTable table = made_open_data();
  return table;
}

double share_of(Bandwidth measured, Bandwidth nic) {
  constexpr double kWhole = 7. / 8, kNone = 4. / 7;
  const double part = std::log(nic.bytes_per_second / measured.bytes_per_second / kNone) / std::log(kWhole / kNone);
  return std::clamp(part, 0., 1.);
}

Bandwidth kind_of(const NicSpec& nics) {
  return nics.hardware_rate.value_or(nics.rate);
}

std::string network_of(const ClusterSpec& spec, bool across_nodes) {
  if (across_nodes) {
    if (!spec.nics) return "";
    const std::string& transport = spec.nics->transport;
    return is_calibrated(transport) ? "rdma" : transport;
  }
  if (spec.nvlink.kind == NvlinkKind::none) return "pcie";
  return spec.nvlink.kind == NvlinkKind::mesh ? "mesh" : "nvswitch";
}

ClusterSpec with_fits(ClusterSpec spec, const FitTable& table) {
  spec.fits = "none";
  spec.places.unfitted.clear();
  if (spec.device == "cpu") {
    spec.places.unfitted = {"overheads"};
    return spec;
  }
  fill_host_copies(spec, table);
  for (const auto& [kind, reaches] : std::map<std::string, OverheadPair>(spec.overheads)) {
    for (bool across : {false, true}) {
      const std::string path = fmt::format("overheads.{}.{}", kind, across ? "across_nodes" : "in_node");
      const bool stated = spec.places.states_within(path) ||
                          (across ? reaches.across_nodes : reaches.in_node) != default_overhead(kind, across);
      bool fitted = false;
      for (const FittedOverhead& row : table.rows) {
        const double share = share_of(row, kind, across, spec);
        if (share <= 0) continue;
        fitted = true;
        if (!stated) fill(spec, table, kind, row, share);
      }
      if (stated && fitted && (!across || spec.nodes > 1)) spec.places.unfitted.push_back(path);
    }
  }
  return spec;
}

ClusterSpec with_fits(ClusterSpec spec) {
  if (spec.fits == open_data_fits().name) return with_fits(std::move(spec), open_data_fits());
  return spec;
}

}  // namespace shardsim
