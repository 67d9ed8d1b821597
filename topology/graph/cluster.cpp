#include "topology/graph/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

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

}  // namespace

Cluster::Cluster(ClusterSpec spec) : spec_(checked(std::move(spec))) {
  std::vector<int> all(static_cast<std::size_t>(spec_.nodes));
  std::iota(all.begin(), all.end(), 0);
  build({all, spec_.nodes});
}

Cluster::Cluster(ClusterSpec spec, const std::vector<int>& nodes) : spec_(checked(std::move(spec))) {
  const Nodes taken{nodes, spec_.nodes};
  build(taken);
  number_in_whole(taken);
  spec_.faults.clear();  // rates and compute factors hold them already
}

void Cluster::build(const Nodes& nodes) {
  build_node();
  spec_.nodes = static_cast<int>(nodes.here.size());
  deal_leaves(nodes);
  repeat_node(nodes);
  add_fabric_links(nodes);
  apply_faults(nodes);
  index_links_by_rank();
}

void Cluster::deal_leaves(const Nodes& nodes) {
  const int per_leaf = spec_.fabric.nodes_per_leaf == 0 ? nodes.in_all : spec_.fabric.nodes_per_leaf;
  for (const int node : nodes.here) leaf_of_node_.push_back(node / per_leaf);
  leaves_ = (nodes.in_all + per_leaf - 1) / per_leaf;
  linked_leaves_ = leaf_of_node_;
  std::ranges::sort(linked_leaves_);
  linked_leaves_.erase(std::unique(linked_leaves_.begin(), linked_leaves_.end()), linked_leaves_.end());
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

void Cluster::repeat_node(const Nodes& nodes) {
  links_.reserve(node_.links.size() * nodes.here.size() + 2 * linked_leaves_.size());
  for (std::size_t i = 0; i < nodes.here.size(); ++i) {
    for (const Link& link : node_.links) {
      links_.push_back(link);
      links_.back().node = static_cast<int>(i);
    }
  }
}

// One shared link per leaf and direction. A rail-optimised block of nodes counts as one leaf: traffic between equal
// rails of a block stays below the spine.
void Cluster::add_fabric_links(const Nodes& nodes) {
  if (spec_.fabric.oversubscription <= 1 || leaves() < 2) return;
  first_fabric_link_ = static_cast<int>(links_.size());
  const double node_rate = nics_of_node(spec_) * spec_.nics->rate.bytes_per_second;
  for (const int leaf : linked_leaves_) {
    const int below = std::min(spec_.fabric.nodes_per_leaf, nodes.in_all - leaf * spec_.fabric.nodes_per_leaf);
    const Bandwidth rate{below * node_rate / spec_.fabric.oversubscription};
    links_.push_back({LinkKind::leaf_up, rate, -1, leaf, 0});
    links_.push_back({LinkKind::leaf_down, rate, -1, leaf, 1});
  }
}

void Cluster::number_in_whole(const Nodes& nodes) {
  const LinkId first_of_leaves = on_node(0, nodes.in_all);
  for (const Link& link : links_) {
    const bool in_node = link.node >= 0;
    in_whole_.push_back(in_node ? on_node(link.local, nodes.here[link.node])
                                : first_of_leaves + 2 * link.leaf + link.local);
  }
}

void Cluster::apply_faults(const Nodes& nodes) {
  for (const FaultSpec& fault : spec_.faults) {
    const auto node = std::ranges::find(nodes.here, fault.node);
    if (node != nodes.here.end()) apply_fault(fault, static_cast<int>(node - nodes.here.begin()));
  }
}

void Cluster::apply_fault(const FaultSpec& fault, int node) {
  const auto slow = [&](LinkId id, double factor) {
    Link& link = links_[on_node(id, node)];
    link.rate = factor * link.rate;
  };
  if (fault.gpu) {
    for (const LinkId id : node_.of_gpu[*fault.gpu]) {
      if (is_nvlink(node_.links[id].kind)) slow(id, fault.rate_factor);
    }
    if (compute_factor_.empty()) compute_factor_.assign(static_cast<std::size_t>(world_size()), 1.0);
    compute_factor_[node * ranks_per_node() + *fault.gpu] *= fault.compute_factor;
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

void Cluster::take_overheads(const ClusterSpec& spec) {
  spec_.launch_overhead = spec.launch_overhead;
  spec_.overheads = spec.overheads;
  spec_.p2p.channel_rate = spec.p2p.channel_rate;
}

std::string Cluster::link_name(LinkId link) const {
  const Link& named = links_[link];
  if (named.node < 0) return fmt::format("leaf{}/{}", named.leaf, named.kind == LinkKind::leaf_up ? "up" : "down");
  const int node = in_whole(link) / static_cast<int>(node_.links.size());
  return fmt::format("node{}/{}", node, node_.names[named.local]);
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
  route.links.reserve(6);  // all that it can have: an all-reduce of a large world asks for 100,000 such routes
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

int Cluster::first_link_of(int leaf) const {
  const bool all = static_cast<int>(linked_leaves_.size()) == leaves_;
  const auto place = all ? leaf : std::ranges::lower_bound(linked_leaves_, leaf) - linked_leaves_.begin();
  return first_fabric_link_ + 2 * static_cast<int>(place);
}

LinkId Cluster::leaf_up(int leaf) const {
  return first_fabric_link_ < 0 ? -1 : first_link_of(leaf);
}

LinkId Cluster::leaf_down(int leaf) const {
  return first_fabric_link_ < 0 ? -1 : first_link_of(leaf) + 1;
}

double Cluster::compute_factor(int rank) const {
  return compute_factor_.empty() ? 1 : compute_factor_[rank];
}

Bytes Cluster::memory_per_rank() const {
  return spec_.gpu.hbm - spec_.gpu.reserved;
}

}  // namespace shardsim
