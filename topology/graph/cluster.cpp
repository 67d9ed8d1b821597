#include "topology/graph/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "topology/graph/graph.h"
#include "topology/graph/node_links.h"

namespace shardsim {
namespace {

ClusterSpec checked(ClusterSpec spec) {
  check_spec(spec);
  check_runnable(spec);
  if (spec.pcie.tree.empty()) spec.pcie.tree = short_pcie_tree(spec.gpu.count, spec.nics, spec.pcie.sockets);
  return spec;
}

// GraphSpec knows five classes; several PCIe switches in a row count like a host bridge, as NCCL's PCI constants do.
std::string intra_path_name(PathClass path) {
  switch (path) {
    case PathClass::loc:
    case PathClass::nvl:
      return "nvl";
    case PathClass::nvb:
      return "nvb";
    case PathClass::pix:
      return "pix";
    case PathClass::pxb:
    case PathClass::phb:
      return "phb";
    default:
      return "sys";
  }
}

// The farthest class between neighbours of the rings; without stated rings those of the index order.
PathClass farthest_hop(const NodeGraph& graph, const std::vector<std::vector<int>>& rings, int gpu_count) {
  PathClass farthest = PathClass::loc;
  const auto visit = [&](int a, int b) {
    const auto path = best_path(graph, static_cast<Vertex>(a), static_cast<Vertex>(b));
    if (path) farthest = std::max(farthest, path->path);
  };
  for (int i = 0; rings.empty() && i < gpu_count; ++i) visit(i, (i + 1) % gpu_count);
  for (const auto& ring : rings) {
    for (std::size_t i = 0; i < ring.size(); ++i) visit(ring[i], ring[(i + 1) % ring.size()]);
  }
  return farthest;
}

bool is_nvlink(LinkKind kind) {
  return kind == LinkKind::nvlink_out || kind == LinkKind::nvlink_in || kind == LinkKind::nvlink_mesh;
}

}  // namespace

Cluster::Cluster(ClusterSpec spec) : spec_(checked(std::move(spec))) {
  deal_leaves();
  build_node();
  repeat_node();
  add_fabric_links();
  for (const FaultSpec& fault : spec_.faults) apply_fault(fault);
  index_links_by_rank();
}

Cluster Cluster::part(const std::vector<int>& nodes) const {
  Cluster part(*this);
  part.spec_.nodes = static_cast<int>(nodes.size());
  part.spec_.faults.clear();  // rates and compute factors hold them already
  part.leaf_of_node_.clear();
  part.links_.clear();
  part.compute_factor_.clear();
  const auto take = [&](LinkId id, int node) {
    part.links_.push_back(links_[id]);
    part.links_.back().node = node;
    part.in_whole_.push_back(in_whole(id));
  };
  part.in_whole_.clear();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    part.leaf_of_node_.push_back(leaf_of(nodes[i]));
    for (const Link& link : node_.links) take(on_node(link.local, nodes[i]), static_cast<int>(i));
    for (int gpu = 0; !compute_factor_.empty() && gpu < ranks_per_node(); ++gpu) {
      part.compute_factor_.push_back(compute_factor_[nodes[i] * ranks_per_node() + gpu]);
    }
  }
  if (first_fabric_link_ >= 0) {
    part.first_fabric_link_ = static_cast<int>(part.links_.size());
    for (LinkId id = first_fabric_link_; id < static_cast<int>(links_.size()); ++id) take(id, -1);
  }
  part.links_of_.clear();
  part.index_links_by_rank();
  return part;
}

void Cluster::deal_leaves() {
  const int per_leaf = spec_.fabric.nodes_per_leaf == 0 ? nodes() : spec_.fabric.nodes_per_leaf;
  for (int node = 0; node < nodes(); ++node) leaf_of_node_.push_back(node / per_leaf);
  leaves_ = (nodes() + per_leaf - 1) / per_leaf;
}

void Cluster::build_node() {
  const NodeGraph graph = build_node_graph(spec_);
  for (auto* channels : {&spec_.graph_one_node, &spec_.graph_multi_node}) {
    if (!*channels || !(*channels)->intra_path.empty()) continue;
    (*channels)->intra_path = intra_path_name(farthest_hop(graph, (*channels)->rings, spec_.gpu.count));
  }
  ports_ = deal_nics(spec_, graph);
  node_ = build_node_links(spec_, graph, ports_);
  for (const auto& row : node_.routes) {
    for (const Route& route : row) has_relays_ = has_relays_ || route.path == PathClass::nvb;
  }
}

void Cluster::repeat_node() {
  links_.reserve(node_.links.size() * static_cast<std::size_t>(nodes()) + 2 * static_cast<std::size_t>(leaves()));
  for (int i = 0; i < nodes(); ++i) {
    for (const Link& link : node_.links) {
      links_.push_back(link);
      links_.back().name = fmt::format("node{}/{}", i, link.name);
      links_.back().node = i;
    }
  }
}

// One shared link per leaf and direction. A rail-optimised block of nodes counts as one leaf: traffic between equal
// rails of a block stays below the spine.
void Cluster::add_fabric_links() {
  if (spec_.fabric.oversubscription <= 1 || leaves() < 2) return;
  first_fabric_link_ = static_cast<int>(links_.size());
  const double node_rate = nics_of_node(spec_) * spec_.nics->rate.bytes_per_second;
  for (int leaf = 0; leaf < leaves(); ++leaf) {
    const int below = std::min(spec_.fabric.nodes_per_leaf, nodes() - leaf * spec_.fabric.nodes_per_leaf);
    const Bandwidth rate{below * node_rate / spec_.fabric.oversubscription};
    links_.push_back({fmt::format("leaf{}/up", leaf), LinkKind::leaf_up, rate, -1, leaf, 0});
    links_.push_back({fmt::format("leaf{}/down", leaf), LinkKind::leaf_down, rate, -1, leaf, 1});
  }
}

void Cluster::apply_fault(const FaultSpec& fault) {
  const auto slow = [&](LinkId id, double factor) {
    Link& link = links_[on_node(id, fault.node)];
    link.rate = factor * link.rate;
  };
  if (fault.gpu) {
    for (const LinkId id : node_.of_gpu[*fault.gpu]) {
      if (is_nvlink(node_.links[id].kind)) slow(id, fault.rate_factor);
    }
    if (compute_factor_.empty()) compute_factor_.assign(static_cast<std::size_t>(world_size()), 1.0);
    compute_factor_[fault.node * ranks_per_node() + *fault.gpu] *= fault.compute_factor;
  }
  for (int port = 0; fault.nic && port < nics_per_node(); ++port) {
    const auto& nics = ports_.nics[port];
    if (std::find(nics.begin(), nics.end(), *fault.nic) == nics.end()) continue;
    const auto count = static_cast<double>(nics.size());
    slow(node_.nic_out[port], (count - 1 + fault.rate_factor) / count);
    slow(node_.nic_in[port], (count - 1 + fault.rate_factor) / count);
  }
}

void Cluster::index_links_by_rank() {
  links_of_.resize(static_cast<std::size_t>(world_size()));
  for (int rank = 0; rank < world_size(); ++rank) {
    const int node = node_of(rank), gpu = gpu_of(rank), leaf = leaf_of(node);
    for (const LinkId id : node_.of_gpu[gpu]) links_of_[rank].push_back(on_node(id, node));
    if (nic_of(gpu) < 0) continue;
    links_of_[rank].insert(links_of_[rank].end(), {nic_out(node, nic_of(gpu)), nic_in(node, nic_of(gpu))});
    if (leaf_up(leaf) >= 0) links_of_[rank].insert(links_of_[rank].end(), {leaf_up(leaf), leaf_down(leaf)});
  }
}

const Route& Cluster::local_route(int from_gpu, int to_gpu) const {
  return node_.routes[from_gpu][to_gpu];
}

Route Cluster::route(int from_rank, int to_rank) const {
  const int node = node_of(from_rank);
  if (node != node_of(to_rank)) return route_between_nodes(from_rank, to_rank);
  Route route = local_route(gpu_of(from_rank), gpu_of(to_rank));
  for (LinkId& id : route.links) id = on_node(id, node);
  find_width(route);
  for (Route& other : route.also) {
    for (LinkId& id : other.links) id = on_node(id, node);
    find_width(other);
  }
  return route;
}

Route Cluster::route_between_nodes(int from_rank, int to_rank) const {
  const int from = node_of(from_rank), to = node_of(to_rank);
  const int from_gpu = gpu_of(from_rank), to_gpu = gpu_of(to_rank);
  const bool crosses_spine = leaf_of(from) != leaf_of(to);
  const bool through_hosts = !spec_.nics->gpudirect;
  Route route;
  route.path = PathClass::net;
  if (through_hosts) route.links.push_back(on_node(node_.pcie_out[from_gpu], from));
  route.links.push_back(nic_out(from, nic_of(from_gpu)));
  if (crosses_spine && first_fabric_link_ >= 0) {
    route.links.insert(route.links.end(), {leaf_up(leaf_of(from)), leaf_down(leaf_of(to))});
  }
  route.links.push_back(nic_in(to, nic_of(to_gpu)));
  if (through_hosts) route.links.push_back(on_node(node_.pcie_in[to_gpu], to));
  route.latency = spec_.nics->latency + (crosses_spine ? spec_.fabric.latency : Seconds{});
  find_width(route);
  return route;
}

void Cluster::find_width(Route& route) const {
  if (route.links.empty()) return;
  route.width = {std::numeric_limits<double>::infinity()};
  for (const LinkId id : route.links) route.width = std::min(route.width, links_[id].rate);
}

int Cluster::nic_of(int gpu) const {
  return ports_.port_of_gpu.empty() ? -1 : ports_.port_of_gpu[gpu];
}

LinkId Cluster::nic_out(int node, int nic) const {
  return on_node(node_.nic_out[nic], node);
}

LinkId Cluster::nic_in(int node, int nic) const {
  return on_node(node_.nic_in[nic], node);
}

LinkId Cluster::leaf_up(int leaf) const {
  return first_fabric_link_ < 0 ? -1 : first_fabric_link_ + 2 * leaf;
}

LinkId Cluster::leaf_down(int leaf) const {
  return first_fabric_link_ < 0 ? -1 : first_fabric_link_ + 2 * leaf + 1;
}

double Cluster::compute_factor(int rank) const {
  return compute_factor_.empty() ? 1 : compute_factor_[rank];
}

Bytes Cluster::memory_per_rank() const {
  return spec_.gpu.hbm - spec_.gpu.reserved;
}

}  // namespace shardsim
