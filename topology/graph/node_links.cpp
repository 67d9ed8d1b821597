#include "topology/graph/node_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace shardsim {
namespace {

// The nearest NIC with room; -1 when all are taken.
int nearest_nic(const NodeGraph& graph, int gpu, const std::vector<int>& room) {
  int best = -1;
  PathClass best_class = PathClass::net;
  for (int nic = 0; nic < static_cast<int>(room.size()); ++nic) {
    const auto vertex = find_device(graph, DeviceKind::nic, nic);
    if (room[nic] == 0 || !vertex) continue;
    const auto path = best_path(graph, static_cast<Vertex>(gpu), *vertex);
    if (!path || path->path >= best_class) continue;
    best = nic;
    best_class = path->path;
    if (best_class <= PathClass::pix) break;  // no path over PCIe is nearer
  }
  return best;
}

int take_nearest(const ClusterSpec& spec, const NodeGraph& graph, int gpu, std::vector<int>& room) {
  const int nic = nearest_nic(graph, gpu, room);
  if (nic < 0) {
    throw input_error(spec.places.of("pcie"), fmt::format("no NIC is left for GPU {} in the PCIe tree", gpu),
                      "Name every GPU and NIC in the tree");
  }
  --room[nic];
  return nic;
}

using EdgeEnds = std::pair<Vertex, Vertex>;
using Paths = std::vector<std::vector<LocalWays>>;

// Adds links to a node and remembers which edge of the graph each stands for.
struct Builder {
  const ClusterSpec& spec;
  const NodeGraph& graph;
  NodeLinks node;
  std::map<EdgeEnds, LinkId> of_edge;

  LinkId add(std::string name, LinkKind kind, Bandwidth rate) {
    const auto id = static_cast<LinkId>(node.links.size());
    node.links.push_back({kind, rate, 0, -1, id});
    node.names.push_back(std::move(name));
    return id;
  }
  LinkId add_edge(std::string name, LinkKind kind, Vertex from, Vertex to) {
    const LinkId id = add(std::move(name), kind, graph[boost::edge(from, to, graph).first].rate);
    of_edge[{from, to}] = id;
    return id;
  }
};

void add_nvlinks(Builder& builder) {
  const NvlinkSpec& nvlink = builder.spec.nvlink;
  for (int gpu = 0; nvlink.kind == NvlinkKind::nvswitch && gpu < builder.spec.gpu.count; ++gpu) {
    const Vertex here = static_cast<Vertex>(gpu), hub = *find_device(builder.graph, DeviceKind::nvswitch, 0);
    auto& own = builder.node.of_gpu[gpu];
    own.push_back(builder.add_edge(fmt::format("gpu{}/nvlink_out", gpu), LinkKind::nvlink_out, here, hub));
    own.push_back(builder.add_edge(fmt::format("gpu{}/nvlink_in", gpu), LinkKind::nvlink_in, hub, here));
  }
  if (nvlink.kind != NvlinkKind::mesh) return;
  const auto add_directed = [&](int from, int to) {
    const LinkId id = builder.add_edge(fmt::format("nvlink/{}-{}", from, to), LinkKind::nvlink_mesh,
                                       static_cast<Vertex>(from), static_cast<Vertex>(to));
    builder.node.of_gpu[from].push_back(id);
    builder.node.of_gpu[to].push_back(id);
  };
  for (const NvlinkSpec::Pair& pair : nvlink.pairs) {
    add_directed(pair.a, pair.b);
    add_directed(pair.b, pair.a);
  }
}

void add_pcie_ports(Builder& builder) {
  for (int gpu = 0; gpu < builder.spec.gpu.count; ++gpu) {
    const Vertex here = static_cast<Vertex>(gpu);
    for (const auto& edge : boost::make_iterator_range(boost::out_edges(here, builder.graph))) {
      if (builder.graph[edge].kind != EdgeKind::pcie) continue;
      const Vertex above = boost::target(edge, builder.graph);
      auto& node = builder.node;
      node.pcie_out.push_back(builder.add_edge(fmt::format("gpu{}/pcie_out", gpu), LinkKind::pcie_out, here, above));
      node.pcie_in.push_back(builder.add_edge(fmt::format("gpu{}/pcie_in", gpu), LinkKind::pcie_in, above, here));
      node.of_gpu[gpu].insert(node.of_gpu[gpu].end(), {node.pcie_out.back(), node.pcie_in.back()});
    }
  }
}

std::string device_name(const Device& device) {
  return fmt::format("{}{}", device.kind == DeviceKind::cpu ? "cpu" : "switch", device.index);
}

bool is_trunk(const NodeGraph& graph, const EdgeEnds& ends) {
  return graph[ends.first].kind != DeviceKind::gpu && graph[ends.second].kind != DeviceKind::gpu;
}

// Only those that some route takes.
void add_trunks(Builder& builder, const std::set<EdgeEnds>& used) {
  for (const EdgeEnds& ends : used) {
    if (!is_trunk(builder.graph, ends)) continue;
    const std::string name =
        fmt::format("pcie/{}-{}", device_name(builder.graph[ends.first]), device_name(builder.graph[ends.second]));
    builder.add_edge(name, LinkKind::pcie_trunk, ends.first, ends.second);
  }
}

std::set<EdgeEnds> edges_used(const Paths& paths, PathClass nearest) {
  std::set<EdgeEnds> used;
  for (const auto& row : paths) {
    for (const LocalWays& ways : row) {
      if (ways.empty() || ways.front().path.path < nearest) continue;
      const auto& vertices = ways.front().path.vertices;
      for (std::size_t i = 1; i < vertices.size(); ++i) used.insert({vertices[i - 1], vertices[i]});
    }
  }
  return used;
}

void add_pcie(Builder& builder, const Paths& paths) {
  const std::set<EdgeEnds> used = edges_used(paths, PathClass::pix);
  const bool through_hosts = builder.spec.nics && !builder.spec.nics->gpudirect;
  if (used.empty() && !through_hosts && builder.spec.nvlink.kind != NvlinkKind::none) return;
  add_pcie_ports(builder);
  add_trunks(builder, used);
}

void add_nics(Builder& builder, const NicPorts& ports) {
  for (std::size_t port = 0; port < ports.nics.size(); ++port) {
    const Bandwidth rate = static_cast<double>(ports.nics[port].size()) * builder.spec.nics->rate;
    builder.node.nic_out.push_back(builder.add(fmt::format("nic{}/out", port), LinkKind::nic_out, rate));
    builder.node.nic_in.push_back(builder.add(fmt::format("nic{}/in", port), LinkKind::nic_in, rate));
  }
}

Route route_over(const Builder& builder, const LocalWay& way) {
  const NodePath& path = way.path;
  Route route;
  route.path = path.path;
  route.share = way.share;
  route.width = path.width;
  route.through_host = path.through_host;
  const bool by_nvlink = path.path <= PathClass::nvb;
  route.latency = by_nvlink ? builder.spec.nvlink.latency : builder.spec.pcie.latency;
  if (path.path == PathClass::nvb) route.relay = static_cast<int>(path.vertices[1]);
  for (std::size_t i = 1; i < path.vertices.size(); ++i) {
    route.links.push_back(builder.of_edge.at({path.vertices[i - 1], path.vertices[i]}));
  }
  return route;
}

Route route_of(const Builder& builder, const LocalWays& ways) {
  if (ways.empty()) return {};
  Route route = route_over(builder, ways.front());
  for (std::size_t i = 1; i < ways.size(); ++i) route.also.push_back(route_over(builder, ways[i]));
  return route;
}

void add_routes(Builder& builder, const Paths& paths) {
  NodeLinks& node = builder.node;
  for (const auto& row : paths) {
    node.routes.emplace_back();
    for (const LocalWays& ways : row) node.routes.back().push_back(route_of(builder, ways));
  }
}

// A GPU waits for the trunks on its routes as for its own ports.
void own_trunks(NodeLinks& node) {
  const auto own = [&](std::vector<LinkId>& owned, const Route& route) {
    for (const LinkId id : route.links) {
      if (node.links[id].kind == LinkKind::pcie_trunk) owned.push_back(id);
    }
  };
  for (std::size_t a = 0; a < node.routes.size(); ++a) {
    for (std::size_t b = 0; b < node.routes.size(); ++b) {
      own(node.of_gpu[a], node.routes[a][b]);
      own(node.of_gpu[a], node.routes[b][a]);
    }
    std::sort(node.of_gpu[a].begin(), node.of_gpu[a].end());
    node.of_gpu[a].erase(std::unique(node.of_gpu[a].begin(), node.of_gpu[a].end()), node.of_gpu[a].end());
  }
}

}  // namespace

NicPorts deal_nics(const ClusterSpec& spec, const NodeGraph& graph) {
  NicPorts ports;
  if (!spec.nics) return ports;
  const int count = nics_of_node(spec);
  const bool several = spec.nics->per_gpu > 1;  // then each GPU's NICs are one port
  for (int nic = 0; !several && nic < count; ++nic) ports.nics.push_back({nic});
  std::vector<int> room(static_cast<std::size_t>(count), std::max(1, spec.nics->shared_by));
  for (int gpu = 0; gpu < spec.gpu.count; ++gpu) {
    if (spec.nics->per_node > 0) {
      ports.port_of_gpu.push_back(gpu % count);
    } else if (several) {
      ports.port_of_gpu.push_back(gpu);
      ports.nics.emplace_back();
      for (int i = 0; i < spec.nics->per_gpu; ++i) ports.nics.back().push_back(take_nearest(spec, graph, gpu, room));
    } else {
      ports.port_of_gpu.push_back(take_nearest(spec, graph, gpu, room));
    }
  }
  return ports;
}

NodeLinks build_node_links(const ClusterSpec& spec, const NodeGraph& graph, const NicPorts& ports) {
  Builder builder{spec, graph, {}, {}};
  builder.node.of_gpu.resize(static_cast<std::size_t>(spec.gpu.count));
  const Paths paths = local_paths(spec, graph);
  add_nvlinks(builder);
  add_pcie(builder, paths);
  add_nics(builder, ports);
  add_routes(builder, paths);
  own_trunks(builder.node);
  return builder.node;
}

}  // namespace shardsim
