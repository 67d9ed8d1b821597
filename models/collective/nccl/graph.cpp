#include "models/collective/nccl/graph.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "models/collective/channel_layout.h"
#include "topology/graph/graph.h"

namespace shardsim {
namespace {

constexpr double kGiga = 1e9;
constexpr double kIntelHostCost = 1.2;  // INTEL_P2P_OVERHEAD, NVIDIA/nccl src/graph/topo.h
constexpr int kEnoughChannels = 16;     // from sm90 on and over several nodes: doubled again below this

struct Found {
  RingLimits limits;
  double real_width = 0;  // of a ring over PCIe: at which bytes move, where NCCL reckons with less
  PathClass intra = PathClass::loc;
  bool ring_over_links = true;  // false: the order of indices, for want of a better one
};

double giga(Bandwidth rate) {
  return rate.bytes_per_second / kGiga;
}

double link_rate(const ClusterSpec& spec) {
  return giga(spec.nvlink.per_link_effective);
}

// As NCCL's search sees it: its own constant between sockets, and GPU to GPU through an Intel root complex costs 6/5 of
// the bytes.
double hop_width(const Route& hop, const ClusterSpec& spec) {
  double width = giga(hop.width);
  if (hop.path == PathClass::sys) width = std::min(width, giga(cpu_link_rate(spec)));
  const bool over_root = hop.path == PathClass::phb || hop.path == PathClass::sys;
  if (!over_root || spec.pcie.cpu_vendor != "intel") return width;
  return std::min(width, giga(pcie_rate(spec.pcie)) / kIntelHostCost);
}

void ring_in_index_order(const NcclGroup& group, const Cluster& cluster, Found& found) {
  double width = std::numeric_limits<double>::infinity(), real = width;
  for (std::size_t i = 0; i < group.gpus.size(); ++i) {
    const Route& hop = cluster.local_route(group.gpus[i], group.gpus[(i + 1) % group.gpus.size()]);
    width = std::min(width, hop_width(hop, cluster.spec()));
    real = std::min(real, giga(hop.width));
    found.intra = std::max(found.intra, hop.path);
  }
  if (real > width) found.real_width = real;
  found.limits.orders = {width};
  found.limits.widest = found.limits.gpu_total = width;
}

std::vector<double> mesh_orders(const NcclGroup& group, const ClusterSpec& spec) {
  if (group.gpus.size() == 2) {
    const int links = links_between(spec.nvlink, group.gpus[0], group.gpus[1]);
    return links > 0 ? std::vector<double>{links * link_rate(spec)} : std::vector<double>{};
  }
  std::vector<double> orders;
  for (const MeshRing& ring : mesh_rings(group.gpus, spec.nvlink)) orders.push_back(ring.links * link_rate(spec));
  return orders;
}

// NVLinks to others of the group: of its widest pair, and of the GPU with the most of them.
std::pair<int, int> most_links(const NcclGroup& group, const NvlinkSpec& nvlink) {
  int widest = 0, most = 0;
  for (int a : group.gpus) {
    int links = 0;
    for (int b : group.gpus) {
      const int pair = a == b ? 0 : links_between(nvlink, a, b);
      widest = std::max(widest, pair);
      links += pair;
    }
    most = std::max(most, links);
  }
  return {widest, most};
}

void rings_over_switch(const ClusterSpec& spec, Found& found) {
  const double total = spec.nvlink.links_per_gpu * link_rate(spec);
  found.limits.orders = {total};
  found.limits.widest = found.limits.gpu_total = total;
  found.intra = PathClass::nvl;
}

void rings_over_mesh(const NcclGroup& group, const Cluster& cluster, Found& found) {
  const ClusterSpec& spec = cluster.spec();
  found.limits.orders = mesh_orders(group, spec);
  if (found.limits.orders.empty()) {
    found.ring_over_links = false;
    return ring_in_index_order(group, cluster, found);
  }
  const auto [widest, most] = most_links(group, spec.nvlink);
  found.limits.widest = widest * link_rate(spec);
  found.limits.gpu_total = most * link_rate(spec);
  found.intra = PathClass::nvl;
}

Found inside_node(const NcclGroup& group, const Cluster& cluster) {
  Found found;
  if (group.gpus.size() < 2) return found;
  switch (cluster.spec().nvlink.kind) {
    case NvlinkKind::nvswitch:
      rings_over_switch(cluster.spec(), found);
      break;
    case NvlinkKind::mesh:
      rings_over_mesh(group, cluster, found);
      break;
    case NvlinkKind::none:
      ring_in_index_order(group, cluster, found);
  }
  return found;
}

std::set<int> ports_of(const NcclGroup& group, const Cluster& cluster) {
  std::set<int> ports;
  for (int gpu : group.gpus) ports.insert(cluster.nic_of(gpu));
  return ports;
}

// Rings may change NICs where there are two or more. Over a switch with a NIC for each GPU, each GPU is then the last
// one of as many rings as any other, and sends that much less to other GPUs; where GPUs share NICs, some are the last
// of none.
void add_crossing(const NcclGroup& group, const ClusterSpec& spec, RingLimits& limits) {
  const std::size_t gpus = group.gpus.size();
  if (limits.nics.size() < 2 || limits.orders.empty() || spec.forced.cross_nic == kNeverCrossNic) return;
  limits.only_crossing = spec.forced.cross_nic == kAlwaysCrossNic;
  if (!limits.only_crossing && spec.nvlink.kind != NvlinkKind::nvswitch) return;
  limits.crossing = limits.orders;
  if (spec.nvlink.kind != NvlinkKind::nvswitch || limits.nics.size() < gpus) return;
  for (double& width : limits.crossing) width *= static_cast<double>(gpus) / static_cast<double>(gpus - 1);
}

// Several NICs of one GPU act as one port of their sum, which the GPU's PCIe slot still bounds.
void add_nics(const NcclGroup& group, const Cluster& cluster, Found& found) {
  const ClusterSpec& spec = cluster.spec();
  const double pcie = giga(pcie_rate(spec.pcie));
  const double path = std::min(pcie, giga(spec.nics->rate) * std::max(1, spec.nics->per_gpu));
  found.limits.nics.assign(ports_of(group, cluster).size(), path);
  found.limits.widest = path;
  found.limits.gpu_total = std::max(found.limits.gpu_total, pcie);
  add_crossing(group, spec, found.limits);
}

// `gpus`: those likely to be near first, because no path can be nearer than over one switch.
PathClass nearest_gpu(const NodeGraph& graph, const std::vector<int>& gpus, int nic) {
  PathClass nearest = PathClass::sys;
  const auto device = find_device(graph, DeviceKind::nic, nic);
  for (int gpu : gpus) {
    const auto path = device ? pcie_path(graph, static_cast<Vertex>(gpu), *device) : std::nullopt;
    if (path) nearest = std::min(nearest, path->path);
    if (nearest <= PathClass::pix) break;
  }
  return nearest;
}

// Without GPUDirect every byte crosses the host bridge.
PathClass nic_path(const NcclGroup& group, const Cluster& cluster) {
  if (!cluster.spec().nics->gpudirect) return PathClass::phb;
  const NodeGraph graph = build_node_graph(cluster.spec());
  const NicPorts& ports = cluster.nic_ports();
  PathClass farthest = PathClass::loc;
  for (int port : ports_of(group, cluster)) {
    std::vector<int> gpus = group.gpus;
    std::stable_partition(gpus.begin(), gpus.end(), [&](int gpu) { return ports.port_of_gpu[gpu] == port; });
    for (int nic : ports.nics[port]) farthest = std::max(farthest, nearest_gpu(graph, gpus, nic));
  }
  return farthest;
}

PathClass stated_path(const GraphSpec& graph, PathClass found) {
  if (graph.intra_path == "nvl") return PathClass::nvl;
  if (graph.intra_path == "nvb") return PathClass::nvb;
  if (graph.intra_path == "pix") return PathClass::pix;
  if (graph.intra_path == "phb") return PathClass::phb;
  return graph.intra_path == "sys" ? PathClass::sys : found;
}

const GraphSpec* stated_graph(const NcclGroup& group, const Cluster& cluster) {
  if (static_cast<int>(group.gpus.size()) != cluster.ranks_per_node()) return nullptr;
  const ClusterSpec& spec = cluster.spec();
  const auto& stated = group.across_nodes() ? spec.graph_multi_node : spec.graph_one_node;
  return stated && stated->channels > 0 ? &*stated : nullptr;
}

void take_stated(const GraphSpec& stated, NcclGraphs& graphs) {
  graphs.ring = {stated.channels, giga(stated.bw_intra), giga(stated.bw_inter)};
  graphs.intra = stated_path(stated, graphs.intra);
  if (!stated.rings.empty())
    graphs.same_channels = std::ranges::adjacent_find(stated.rings, std::ranges::not_equal_to{}) == stated.rings.end();
  graphs.source = GraphSource::stated;
}

// One ring per NIC, or one.
NcclChannels plain_rings(const RingLimits& limits) {
  const int count = std::max(1, static_cast<int>(limits.nics.size()));
  const double speed = limits.nics.empty() ? limits.orders.front() : limits.widest;
  return {count, speed, speed, limits.only_crossing};
}

RingLimits real_limits(const Found& found) {
  RingLimits limits = found.limits;
  limits.orders = {found.real_width};
  limits.widest = limits.gpu_total = found.real_width;
  return limits;
}

void take_searched(const Found& found, int capability, NcclEra era, NcclGraphs& graphs) {
  graphs.ring = search_channels(found.limits, capability, era);
  // Over several nodes the channels that the search found are the NICs in use.
  if (found.real_width > 0 && found.limits.nics.empty())
    graphs.carried_ring = search_channels(real_limits(found), capability, era);
  graphs.source = found.ring_over_links ? GraphSource::reference : GraphSource::fallback;
  if (graphs.ring.count > 0) return;
  graphs.ring = plain_rings(found.limits);
  graphs.source = GraphSource::fallback;
}

}  // namespace

NcclGroup nccl_group(const std::vector<int>& ranks, const Cluster& cluster) {
  std::map<int, std::vector<int>> gpus_of_node;
  for (int rank : ranks) gpus_of_node[cluster.node_of(rank)].push_back(cluster.gpu_of(rank));
  NcclGroup group{static_cast<int>(ranks.size()), static_cast<int>(gpus_of_node.size()), {}};
  if (ranks.empty()) return group;
  const auto smaller = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  group.gpus = std::ranges::min_element(gpus_of_node, smaller)->second;
  std::ranges::sort(group.gpus);
  return group;
}

NcclGraphs nccl_graphs(const NcclGroup& group, const Cluster& cluster) {
  NcclGraphs graphs;
  if (group.ranks < 2) return graphs;
  const ClusterSpec& spec = cluster.spec();
  const int capability = capability_number(spec.gpu.compute_capability);
  const NcclEra era = nccl_constants(spec.nccl).era;
  Found found = inside_node(group, cluster);
  if (group.across_nodes()) add_nics(group, cluster, found);
  graphs.intra = found.intra;
  graphs.nics = static_cast<int>(found.limits.nics.size());
  graphs.nic = group.across_nodes() ? nic_path(group, cluster) : PathClass::loc;
  graphs.same_channels = group.across_nodes() ? graphs.nics == 1 : found.limits.orders.size() == 1;
  graphs.plain_tree = group.gpus.size() == 1;
  if (const GraphSpec* stated = stated_graph(group, cluster))
    take_stated(*stated, graphs);
  else
    take_searched(found, capability, era, graphs);
  if (spec.nvlink.kind == NvlinkKind::nvswitch && group.per_node() > 1) {
    const int heads = group.across_nodes() ? graphs.nics : group.per_node();
    graphs.nvls = nvls_channels(heads, found.limits, capability, era);
    graphs.nvls_links = nvls_speed_of_links(heads, found.limits, capability, era);
  }
  graphs.compute_channels = kernel_channels(graphs.ring.count, group.across_nodes(), spec);
  return graphs;
}

int kernel_channels(int graph_channels, bool across_nodes, const ClusterSpec& spec) {
  if (spec.forced.channels > 0) return spec.forced.channels;
  const int channels = 2 * graph_channels;
  const bool again = capability_number(spec.gpu.compute_capability) >= 90 && across_nodes &&
                     channels < kEnoughChannels && spec.nvlink.kind != NvlinkKind::none;
  return again ? 2 * channels : channels;
}

}  // namespace shardsim
