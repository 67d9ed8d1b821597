#include "topology/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace shardsim {
namespace {

void connect(NodeGraph& graph, Vertex a, Vertex b, EdgeKind kind, Bandwidth rate) {
  boost::add_edge(a, b, Edge{kind, rate}, graph);
  boost::add_edge(b, a, Edge{kind, rate}, graph);
}

void add_gpus(NodeGraph& graph, const ClusterSpec& spec) {
  for (int gpu = 0; gpu < spec.gpu.count; ++gpu) boost::add_vertex(Device{DeviceKind::gpu, gpu}, graph);
}

void add_nvlink(NodeGraph& graph, const ClusterSpec& spec) {
  const NvlinkSpec& nvlink = spec.nvlink;
  if (nvlink.kind == NvlinkKind::nvswitch) {
    const Vertex nvswitch = boost::add_vertex(Device{DeviceKind::nvswitch, 0}, graph);
    const Bandwidth port = static_cast<double>(nvlink.links_per_gpu) * nvlink.per_link_effective;
    for (int gpu = 0; gpu < spec.gpu.count; ++gpu) {
      connect(graph, static_cast<Vertex>(gpu), nvswitch, EdgeKind::nvlink, port);
    }
  }
  if (nvlink.kind != NvlinkKind::mesh) return;
  for (const NvlinkSpec::Pair& pair : nvlink.pairs) {
    connect(graph, static_cast<Vertex>(pair.a), static_cast<Vertex>(pair.b), EdgeKind::nvlink,
            static_cast<double>(pair.links) * nvlink.per_link_effective);
  }
}

// The sockets of a host are all joined to each other.
std::vector<Vertex> add_sockets(NodeGraph& graph, const ClusterSpec& spec) {
  std::vector<Vertex> sockets;
  for (int i = 0; i < spec.pcie.sockets; ++i) {
    sockets.push_back(boost::add_vertex(Device{DeviceKind::cpu, i}, graph));
    for (int other = 0; other < i; ++other) {
      connect(graph, sockets[other], sockets[i], EdgeKind::cpu_link, socket_link_rate(spec));
    }
  }
  return sockets;
}

void add_pcie(NodeGraph& graph, const ClusterSpec& spec, const std::vector<PcieSpec::Switch>& tree) {
  const Bandwidth rate = pcie_rate(spec.pcie);
  std::map<std::string, Vertex> by_name;
  for (const PcieSpec::Switch& entry : tree) {
    by_name[entry.name] = boost::add_vertex(Device{DeviceKind::pcie_switch, static_cast<int>(by_name.size())}, graph);
  }
  const std::vector<Vertex> sockets = add_sockets(graph, spec);
  for (const PcieSpec::Switch& entry : tree) {
    const Vertex here = by_name.at(entry.name);
    const auto parent = by_name.find(entry.parent);
    const Vertex above = parent != by_name.end() ? parent->second : sockets.at(std::stoul(entry.parent));
    connect(graph, here, above, EdgeKind::pcie, entry.uplink.value_or(rate));
    for (const int gpu : entry.gpus) connect(graph, static_cast<Vertex>(gpu), here, EdgeKind::pcie, rate);
  }
  std::map<int, Vertex> switch_of_nic;
  for (const PcieSpec::Switch& entry : tree) {
    for (const int nic : entry.nics) switch_of_nic[nic] = by_name.at(entry.name);
  }
  for (const auto& [nic, above] : switch_of_nic) {
    connect(graph, boost::add_vertex(Device{DeviceKind::nic, nic}, graph), above, EdgeKind::pcie, rate);
  }
}

}  // namespace

NodeGraph build_node_graph(const ClusterSpec& spec) {
  NodeGraph graph;
  add_gpus(graph, spec);
  add_nvlink(graph, spec);
  add_pcie(graph, spec,
           spec.pcie.tree.empty() ? short_pcie_tree(spec.gpu.count, spec.nics, spec.pcie.sockets) : spec.pcie.tree);
  return graph;
}

std::optional<Vertex> find_device(const NodeGraph& graph, DeviceKind kind, int index) {
  for (Vertex vertex = 0; vertex < boost::num_vertices(graph); ++vertex) {
    if (graph[vertex].kind == kind && graph[vertex].index == index) return vertex;
  }
  return std::nullopt;
}

}  // namespace shardsim
