#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/text.h"
#include "cli/commands/cluster.h"
#include "models/collective/fitted_overheads.h"
#include "models/collective/nccl/graph.h"
#include "topology/export/export.h"

namespace shardsim {
namespace {

std::string gbps(Bandwidth rate) {
  return fmt::format("{:.4g}", rate.bytes_per_second / 1e9);
}

std::string head(const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  std::string text = fmt::format("{}: {}\n", spec.name, spec.summary);
  text += fmt::format("{} of {} {} (compute capability {}, {} at {}), {} a node\n",
                      counted(static_cast<std::size_t>(spec.nodes), "node"), spec.gpu.count, spec.gpu.model,
                      spec.gpu.compute_capability, to_text(spec.gpu.hbm), to_text(spec.gpu.hbm_bandwidth),
                      counted(static_cast<std::size_t>(nics_of_node(spec)), "NIC"));
  text += fmt::format("fabric {}, {} nodes a leaf, oversubscription {}; NCCL {} constants\n", spec.fabric.kind,
                      spec.fabric.nodes_per_leaf == 0 ? "all" : fmt::format("{}", spec.fabric.nodes_per_leaf),
                      shortest(spec.fabric.oversubscription), spec.nccl);
  return text;
}

struct Tier {
  int pairs = 0;
  Bandwidth narrowest{1e300}, widest{0};
  Seconds latency;
};

std::map<PathClass, Tier> tiers_of(const Cluster& cluster) {
  std::map<PathClass, Tier> tiers;
  for (int a = 0; a < cluster.ranks_per_node(); ++a) {
    for (int b = a + 1; b < cluster.ranks_per_node(); ++b) {
      const Route& route = cluster.local_route(a, b);
      Tier& tier = tiers[route.path];
      ++tier.pairs;
      tier.narrowest = std::min(tier.narrowest, route.width);
      tier.widest = std::max(tier.widest, route.width);
      tier.latency = route.latency;
    }
  }
  return tiers;
}

std::string tier_line(std::string_view name, const std::string& pairs, const std::string& width, Seconds latency) {
  return fmt::format("{:<5} {:>9} {:>15} {:>11.4g}\n", name, pairs, width, latency.us());
}

std::string tiers(const Cluster& cluster) {
  std::string text = fmt::format("\n{:<5} {:>9} {:>15} {:>11}\n", "tier", "GPU pairs", "width GB/s", "latency us");
  for (const auto& [path, tier] : tiers_of(cluster)) {
    const bool alike = tier.narrowest == tier.widest;
    // As the matrix below says it of GPUs: within a socket, which is one NUMA node of the model.
    const std::string_view name = path == PathClass::phb ? "NODE" : path_class_name(path);
    text += tier_line(name, fmt::format("{}", tier.pairs),
                      alike ? gbps(tier.widest) : gbps(tier.narrowest) + " to " + gbps(tier.widest), tier.latency);
  }
  const auto& nics = cluster.spec().nics;
  if (nics) text += tier_line("NET", "any", gbps(cluster.links()[cluster.nic_out(0, 0)].rate), nics->latency);
  return text + (nics ? fmt::format("NET goes over {}, GPUDirect {}\n", nics->transport, nics->gpudirect ? "on" : "off")
                      : "NET: no NICs, so one node alone can run\n");
}

// Sum of the GPU's own outgoing NVLinks, node 0.
double nvlink_out_of(const Cluster& cluster, int gpu) {
  double sum = 0;
  for (const LinkId id : cluster.links_of(gpu)) {
    const Link& link = cluster.links()[id];
    const bool leaves = cluster.link_name(id).find(fmt::format("/nvlink/{}-", gpu)) != std::string::npos;
    if (link.kind == LinkKind::nvlink_out || (link.kind == LinkKind::nvlink_mesh && leaves))
      sum += link.rate.bytes_per_second;
  }
  return sum;
}

// Says what rate a NIC gets that is faster than its slot; "" for others.
std::string slots(const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  if (!spec.nics || spec.device == "cpu") return "";
  const Bandwidth port = cluster.links()[cluster.nic_out(0, 0)].rate, counted = pcie_rate(spec.pcie);
  if (port.bytes_per_second < kTellingSlot * counted.bytes_per_second) return "";
  return fmt::format(
      "NICs are faster than their PCIe {}.0 x{} slots, which carry up to {} GB/s for all-to-all and send_recv, and {} "
      "for reductions and gathers by NCCL's search.\n",
      spec.pcie.generation, spec.pcie.lanes, gbps(pcie_line_rate(spec.pcie)), gbps(counted));
}

std::string sockets(const ClusterSpec& spec) {
  if (spec.pcie.sockets < 2) return "";
  return "NUMA Affinity is the socket in this file (pcie.cpu.sockets), counted from 0, and not the machine's own "
         "number.\n";
}

std::string ports(const Cluster& cluster) {
  std::string text = fmt::format("\n{:<5} {:>12} {:>10} {:>5} {:>10} {:>12}\n", "GPU", "NVLink GB/s", "PCIe GB/s",
                                 "NIC", "NIC GB/s", "GPUs on it");
  for (int gpu = 0; gpu < cluster.ranks_per_node(); ++gpu) {
    const double nvlink = nvlink_out_of(cluster, gpu);
    const int nic = cluster.nic_of(gpu);
    int sharing = 0;
    for (int other = 0; other < cluster.ranks_per_node(); ++other) sharing += cluster.nic_of(other) == nic;
    text += fmt::format("{:<5} {:>12} {:>10} ", gpu, nvlink > 0 ? gbps({nvlink}) : "-",
                        gbps(pcie_rate(cluster.spec().pcie)));
    text += nic < 0 ? fmt::format("{:>5} {:>10} {:>12}\n", "-", "-", "-")
                    : fmt::format("{:>5} {:>10} {:>12}\n", nic, gbps(cluster.links()[cluster.nic_out(0, nic)].rate),
                                  sharing);
  }
  return text + "Rates are per direction and effective; a NIC column is a port: all NICs of a GPU that has several.\n" +
         slots(cluster);
}

std::string_view channels_from(const NcclGraphs& graphs) {
  if (graphs.source == GraphSource::stated) return "stated by the file";
  return graphs.ring.crosses ? "NCCL's search: rings that change NICs" : "NCCL's search";
}

std::string channel_line(std::string_view reach, const NcclGraphs& graphs) {
  const bool across = graphs.nics > 0;
  return fmt::format("{:<12} {:>9} {:>14} {:>13}   {}\n", reach, graphs.ring.count,
                     fmt::format("{:.4g}", graphs.ring.bw_intra),
                     across ? fmt::format("{:.4g}", graphs.ring.bw_inter) : "-", channels_from(graphs));
}

// NCCL's channels in one whole node and over all nodes; they set the times of the all-reduce and its kin.
std::string channels(const Cluster& cluster) {
  const int per_node = cluster.ranks_per_node();
  if (cluster.spec().device == "cpu" || cluster.world_size() < 2) return "";
  std::string text = fmt::format("\n{:<12} {:>9} {:>14} {:>13}\n", "NCCL", "channels", "in a node GB/s", "by NIC GB/s");
  const auto line = [&](std::string_view reach, int ranks) {
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    text += channel_line(reach, nccl_graphs(nccl_group(all, cluster), cluster));
  };
  if (per_node > 1) line("one node", per_node);
  if (cluster.nodes() > 1) line("all nodes", cluster.world_size());
  return text;
}

std::string notes(const ClusterSpec& spec) {
  std::string text;
  for (const std::string& note : cluster_notes(spec)) text += "\nnote: " + note + "\n";
  return text;
}

std::string open_points(const ClusterSpec& spec) {
  if (spec.open.empty()) return "";
  std::string text = "\nLeft open:\n";
  for (const std::string& entry : spec.open) text += "  - " + entry + "\n";
  return text;
}

std::string range_text(const FitRange& range) {
  std::vector<std::string> parts;
  if (range.bytes_from.count > 0) parts.push_back("from " + to_text(range.bytes_from));
  if (range.bytes_to) parts.push_back("up to " + to_text(*range.bytes_to));
  const std::string most = range.ranks_to > 0 ? fmt::format("{}", range.ranks_to) : "any number of";
  parts.push_back(fmt::format("groups of {} to {} ranks", range.ranks_from, most));
  if (!range.nvlink.empty()) parts.push_back("NVLink " + range.nvlink);
  return join(parts);
}

std::string range_text(const WorkRange& range) {
  std::vector<std::string> parts;
  if (range.bytes_to) parts.push_back(fmt::format("{} to {}", to_text(range.bytes_from), to_text(*range.bytes_to)));
  if (range.gflop_to > 0) parts.push_back(fmt::format("{:.3g} to {:.3g} GFLOP", range.gflop_from, range.gflop_to));
  return join(parts);
}

// The range that a fitted value holds for: that of its map.
std::string range_of(const SourcedValue& value, const ClusterSpec& spec) {
  const auto of = [](const auto& range) {
    return ", range: " + (range && !range_text(*range).empty() ? range_text(*range) : "every call: no range is stated");
  };
  if (value.path.starts_with("gpu.")) return of(spec.gpu.holds_for);
  if (value.path == "nvlink.nvb_efficiency") return of(spec.nvlink.nvb_holds_for);
  for (const auto& [kind, reaches] : spec.overheads) {
    if (value.path.starts_with("overheads." + kind + ".in_node.")) return of(reaches.in_node.holds_for);
    if (value.path.starts_with("overheads." + kind + ".across_nodes.")) return of(reaches.across_nodes.holds_for);
  }
  return "";
}

// Where the numbers come from, in a sentence.
std::string origins(const ClusterSpec& spec) {
  const auto fitted = static_cast<std::size_t>(std::ranges::count_if(spec.sources, &SourcedValue::fitted));
  std::string text = fitted == 0 ? "\nNothing here was fitted to measurements." : "\n";
  if (fitted > 0) text += counted(fitted, "value") + " fitted to measurements.";
  if (spec.sources.size() > fitted) text += fmt::format(" {} more with a source.", spec.sources.size() - fitted);
  if (!spec.open.empty()) text += fmt::format(" {} left open.", counted(spec.open.size(), "point"));
  return text + "\n";
}

std::string source_line(const SourcedValue& value, const ClusterSpec& spec) {
  std::string text = fmt::format("  {} = {}", value.path, value.value.empty() ? "(a list)" : value.value);
  if (value.fitted) text += ", FITTED";
  if (value.rows_used > 0) text += fmt::format(" on {} rows", value.rows_used);
  if (!value.fitted_on.empty()) text += " (" + join(value.fitted_on) + ")";
  if (value.fitted) text += range_of(value, spec);
  if (value.error_unused_pct) text += fmt::format(", {:.3g} % off the rows not used", *value.error_unused_pct);
  return text + (value.source.empty() ? "\n" : ": " + value.source + "\n");
}

std::string sourced_values(const ClusterSpec& spec) {
  const bool fitted = std::any_of(spec.sources.begin(), spec.sources.end(), [](const auto& s) { return s.fitted; });
  std::string text = fitted ? "" : "\nNothing here was fitted to measurements.\n";
  if (!spec.sources.empty()) text += "\nValues that state their source:\n";
  for (const SourcedValue& value : spec.sources) text += source_line(value, spec);
  return text;
}

}  // namespace

std::string cluster_text(const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  return head(cluster) + tiers(cluster) + "\n" + write_smi_matrix(spec) + sockets(spec) + ports(cluster) +
         channels(cluster) + open_points(spec) + sourced_values(spec) + notes(spec);
}

std::string brief_cluster_text(const Cluster& cluster) {
  constexpr std::size_t kMostNotes = 2;
  const ClusterSpec& spec = cluster.spec();
  std::string text = head(cluster) + tiers(cluster) + channels(cluster) + origins(spec);
  const std::vector<std::string> all = cluster_notes(spec);
  for (std::size_t i = 0; i < std::min(all.size(), kMostNotes); ++i) text += "note: " + all[i] + "\n";
  const std::string more = all.size() > kMostNotes ? fmt::format(", {} more notes", all.size() - kMostNotes) : "";
  return text +
         "With --details: the path between any two devices, the ports of each GPU, what is left open and the "
         "source of each value" +
         more + ".\n";
}

}  // namespace shardsim
