#include "models/collective/load_builder.h"

#include <algorithm>

namespace shardsim {

LinkSums::LinkSums(const std::vector<int>& ranks, const Cluster& cluster)
    : fabric_(cluster.on_node(0, cluster.nodes())) {
  if (ranks.empty()) return;
  const auto [lowest, highest] = std::ranges::minmax(ranks);
  const int from = cluster.node_of(lowest), to = cluster.node_of(highest);
  first_ = cluster.on_node(0, from);
  of_nodes_ = cluster.on_node(0, to + 1) - first_;
  const std::size_t shared = from == to ? 0 : cluster.links().size() - static_cast<std::size_t>(fabric_);
  values_.assign(static_cast<std::size_t>(of_nodes_) + shared, 0.0);
}

LinkSums LinkSums::zeros() const {
  LinkSums sums = *this;
  std::ranges::fill(sums.values_, 0.0);
  return sums;
}

LoadBuilder::LoadBuilder(const std::vector<int>& ranks, const CallShape& call, const Cluster& cluster)
    : LoadBuilder(ranks, cluster, nic_share(call, cluster), overhead_of(call, cluster).efficiency) {}

LoadBuilder::LoadBuilder(const std::vector<int>& ranks, const Cluster& cluster, NicShare of_nics,
                         double port_efficiency)
    : cluster_(cluster), of_nics_(of_nics), port_efficiency_(port_efficiency), bytes_(ranks, cluster) {}

void LoadBuilder::add_link(LinkId link, double bytes) {
  bytes_[link] += bytes;
}

void LoadBuilder::add_links(const Route& local, int node, double bytes) {
  note_latency(local.latency);
  if (local.relay && bytes > 0) relayed_ = true;
  for (LinkId link : local.links) add_link(cluster_.on_node(link, node), bytes);
  if (local.through_host) add_host_copies(local, node, bytes);
}

// One GPU writes host memory and the other reads it, in pieces and in both directions of the links at once: these carry
// such bytes at a share of their rate.
void LoadBuilder::add_host_copies(const Route& local, int node, double bytes) {
  const double more = 1 / host_copy_efficiency(cluster_.spec().pcie) - 1;
  if (more <= 0) return;
  if (!host_) host_ = bytes_.zeros();
  for (LinkId link : local.links)
    if (cluster_.links()[link].kind == LinkKind::pcie_trunk) (*host_)[cluster_.on_node(link, node)] += bytes * more;
}

void LoadBuilder::add_local(int from_rank, int to_rank, double bytes) {
  const Route& route = cluster_.local_route(cluster_.gpu_of(from_rank), cluster_.gpu_of(to_rank));
  const int node = cluster_.node_of(from_rank);
  add_links(route, node, bytes * route.share);
  for (const Route& other : route.also) add_links(other, node, bytes * other.share);
}

void LoadBuilder::add_across(int from_rank, int to_rank, double bytes) {
  const Route route = cluster_.route(from_rank, to_rank);
  note_latency(route.latency);
  for (LinkId link : route.links) add_link(link, bytes);
}

void LoadBuilder::add_off_node(int rank, const RailSenders& node, const OffNodeBytes& bytes) {
  const auto nic_of = [&](int member) { return cluster_.nic_of(cluster_.gpu_of(member)); };
  const bool pxn = uses_pxn(cluster_);
  add_link(cluster_.nic_in(node.node(), nic_of(rank)), bytes.received);
  if (!pxn) add_link(cluster_.nic_out(node.node(), nic_of(rank)), bytes.sent);
  for (std::size_t rail = 0; pxn && rail < bytes.to_rails.size(); ++rail) {
    if (bytes.to_rails[rail] <= 0) continue;
    const int by = node.of(rank, static_cast<int>(rail));
    if (by != rank) add_local(rank, by, bytes.to_rails[rail]);
    add_link(cluster_.nic_out(node.node(), nic_of(by)), bytes.to_rails[rail]);
  }
  // Without NVLink the port carries what stays in the node too, without GPUDirect all that leaves it.
  const ClusterSpec& spec = cluster_.spec();
  if (spec.nvlink.kind == NvlinkKind::none || !spec.nics->gpudirect) add_slot(rank, bytes.sent, bytes.received);
}

void LoadBuilder::add_slot(int rank, double out, double in) {
  for (LinkId link : cluster_.links_of(rank)) {
    const Link& port = cluster_.links()[link];
    if (port.kind == LinkKind::pcie_out) add_link(link, out);
    if (port.kind == LinkKind::pcie_in) add_link(link, in);
  }
}

void LoadBuilder::note_latency(Seconds latency) {
  largest_latency_ = std::max(largest_latency_, latency);
}

void LoadBuilder::cap(LinkId link, double bytes_per_second) {
  const Link& target = cluster_.links()[link];
  const double occupancy = bytes_per_second / efficiency(target);
  if (occupancy >= target.rate.bytes_per_second) return;
  if (!caps_) caps_ = bytes_.zeros();
  (*caps_)[link] = occupancy;
}

double LoadBuilder::efficiency(const Link& link) const {
  switch (link.kind) {
    case LinkKind::nic_out:
    case LinkKind::nic_in:
      return of_nics_.of(link.rate);
    case LinkKind::nvlink_out:
    case LinkKind::nvlink_in:
    case LinkKind::nvlink_mesh:
      return port_efficiency_ * (relayed_ ? cluster_.spec().nvlink.nvb_efficiency : 1.0);
    case LinkKind::pcie_out:
    case LinkKind::pcie_in:
      return port_efficiency_;
    default:
      return 1.0;
  }
}

std::vector<LinkLoad> LoadBuilder::loads() const {
  std::size_t count = 0;
  bytes_.for_each([&](LinkId, double bytes) { count += bytes > 0 ? 1 : 0; });
  std::vector<LinkLoad> loads;
  loads.reserve(count);
  bytes_.for_each([&](LinkId link, double bytes) {
    if (bytes <= 0) return;
    LinkLoad load{link, bytes, bytes / efficiency(cluster_.links()[link]), {}};
    if (host_) load.occupancy += (*host_)[link];
    if (caps_) load.cap = {(*caps_)[link]};
    loads.push_back(load);
  });
  return loads;
}

CollectiveLoads LoadBuilder::exchange(const CallShape& call) const {
  CollectiveLoads result{start_time(call, largest_latency_, cluster_), loads(), false, "direct", ""};
  result.start = result.start + pipeline_fill(overhead_of(call, cluster_), result, cluster_);
  return result;
}

}  // namespace shardsim
