#include "topology/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <functional>
#include <limits>
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

constexpr Vertex kNone = std::numeric_limits<Vertex>::max();

const Edge* edge_between(const NodeGraph& graph, Vertex from, Vertex to) {
  const auto [edge, exists] = boost::edge(from, to, graph);
  return exists ? &graph[edge] : nullptr;
}

const Edge* nvlink_between(const NodeGraph& graph, Vertex from, Vertex to) {
  const Edge* edge = edge_between(graph, from, to);
  return edge != nullptr && edge->kind == EdgeKind::nvlink ? edge : nullptr;
}

Bandwidth narrowest(const NodeGraph& graph, const std::vector<Vertex>& vertices) {
  Bandwidth width{vertices.size() < 2 ? 0 : std::numeric_limits<double>::infinity()};
  for (std::size_t i = 1; i < vertices.size(); ++i) {
    width = std::min(width, edge_between(graph, vertices[i - 1], vertices[i])->rate);
  }
  return width;
}

NodePath path_over(const NodeGraph& graph, PathClass path, std::vector<Vertex> vertices) {
  const Bandwidth width = narrowest(graph, vertices);
  return {path, std::move(vertices), width};
}

// Directly, or through the one NVSwitch.
std::optional<NodePath> nvlink_path(const NodeGraph& graph, Vertex from, Vertex to) {
  if (nvlink_between(graph, from, to) != nullptr) return path_over(graph, PathClass::nvl, {from, to});
  const auto nvswitch = find_device(graph, DeviceKind::nvswitch, 0);
  if (!nvswitch || nvlink_between(graph, from, *nvswitch) == nullptr) return std::nullopt;
  if (nvlink_between(graph, *nvswitch, to) == nullptr) return std::nullopt;
  return path_over(graph, PathClass::nvl, {from, *nvswitch, to});
}

// Every relay costs the same hops, so the widest wins, and of equals the lowest.
std::optional<NodePath> widest_relay(const NodeGraph& graph, Vertex from, Vertex to) {
  std::optional<NodePath> best;
  for (const int relay : relays(graph, static_cast<int>(from), static_cast<int>(to))) {
    NodePath path = relayed_path(graph, from, static_cast<Vertex>(relay), to);
    if (!best || path.width > best->width) best = std::move(path);
  }
  return best;
}

bool passes_on(const NodeGraph& graph, Vertex vertex) {
  return graph[vertex].kind == DeviceKind::pcie_switch || graph[vertex].kind == DeviceKind::cpu;
}

// PIX one PCIe switch, PXB several, PHB one CPU, SYS two.
PathClass pcie_class(const NodeGraph& graph, const std::vector<Vertex>& vertices) {
  int cpus = 0, switches = 0;
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    cpus += graph[vertices[i]].kind == DeviceKind::cpu;
    switches += graph[vertices[i]].kind == DeviceKind::pcie_switch;
  }
  if (cpus > 1) return PathClass::sys;
  if (cpus == 1) return PathClass::phb;
  return switches > 1 ? PathClass::pxb : PathClass::pix;
}

// For each vertex the one before it on the way from `from`; fewest hops, then lowest vertices.
std::vector<Vertex> search_pcie(const NodeGraph& graph, Vertex from) {
  using EdgeId = boost::graph_traits<NodeGraph>::edge_descriptor;
  const std::function<bool(EdgeId)> may_pass = [&](EdgeId edge) {
    const Vertex here = boost::source(edge, graph);
    return graph[edge].kind != EdgeKind::nvlink && (here == from || passes_on(graph, here));
  };
  std::vector<Vertex> before(boost::num_vertices(graph), kNone);
  before[from] = from;
  const auto note = boost::make_bfs_visitor(boost::record_predecessors(before.data(), boost::on_tree_edge()));
  boost::breadth_first_search(boost::make_filtered_graph(graph, may_pass), from, boost::visitor(note));
  return before;
}

Vertex cpu_of(const NodeGraph& graph, Vertex device) {
  Vertex nearest = kNone;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (int i = 0; const auto cpu = find_device(graph, DeviceKind::cpu, i); ++i) {
    const auto path = pcie_path(graph, device, *cpu);
    if (!path || path->vertices.size() >= fewest) continue;
    nearest = *cpu;
    fewest = path->vertices.size();
  }
  return nearest;
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

std::string_view path_class_name(PathClass path) {
  constexpr std::array<std::string_view, 8> kNames = {"LOC", "NVL", "NVB", "PIX", "PXB", "PHB", "SYS", "NET"};
  return kNames.at(static_cast<std::size_t>(path));
}

// The PCIe part of a node is a tree under each socket and the sockets are joined pairwise, so the path of fewest hops
// is the only one that crosses nothing twice: it has the nearest class and the greatest width too.
std::optional<NodePath> pcie_path(const NodeGraph& graph, Vertex from, Vertex to) {
  const std::vector<Vertex> before = search_pcie(graph, from);
  if (before[to] == kNone) return std::nullopt;
  std::vector<Vertex> vertices = {to};
  while (vertices.back() != from) vertices.push_back(before[vertices.back()]);
  std::reverse(vertices.begin(), vertices.end());
  return path_over(graph, pcie_class(graph, vertices), vertices);
}

std::optional<NodePath> host_path(const NodeGraph& graph, Vertex from, Vertex to) {
  const Vertex first = cpu_of(graph, from), second = cpu_of(graph, to);
  if (first == kNone || second == kNone) return std::nullopt;
  std::vector<Vertex> vertices = pcie_path(graph, from, first)->vertices;
  const std::vector<Vertex> down = pcie_path(graph, second, to)->vertices;
  vertices.insert(vertices.end(), down.begin() + (first == second ? 1 : 0), down.end());
  return path_over(graph, first == second ? PathClass::phb : PathClass::sys, vertices);
}

NodePath relayed_path(const NodeGraph& graph, Vertex from, Vertex relay, Vertex to) {
  return path_over(graph, PathClass::nvb, {from, relay, to});
}

std::vector<int> relays(const NodeGraph& graph, int from_gpu, int to_gpu) {
  const Vertex from = static_cast<Vertex>(from_gpu), to = static_cast<Vertex>(to_gpu);
  std::vector<int> found;
  for (Vertex relay = 0; relay < boost::num_vertices(graph); ++relay) {
    if (graph[relay].kind != DeviceKind::gpu || relay == from || relay == to) continue;
    if (nvlink_between(graph, from, relay) == nullptr || nvlink_between(graph, relay, to) == nullptr) continue;
    found.push_back(static_cast<int>(relay));
  }
  return found;
}

std::optional<NodePath> best_path(const NodeGraph& graph, Vertex from, Vertex to) {
  if (from == to) return NodePath{PathClass::loc, {from}, {0}};
  const bool between_gpus = graph[from].kind == DeviceKind::gpu && graph[to].kind == DeviceKind::gpu;
  if (between_gpus) {
    if (auto direct = nvlink_path(graph, from, to)) return direct;
    if (auto relayed = widest_relay(graph, from, to)) return relayed;
  }
  return pcie_path(graph, from, to);
}

}  // namespace shardsim
