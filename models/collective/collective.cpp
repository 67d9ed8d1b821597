#include "models/collective/collective.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "models/collective/side_by_side.h"

namespace shardsim {
namespace {

// Several NICs of a GPU act as one port.
double port_rate(const ClusterSpec& spec) {
  return spec.nics->rate.bytes_per_second * std::max(1, spec.nics->per_gpu);
}

// Share of the NICs that the channels can fill. Fewer channels than NICs leave NICs idle (they carry no load), so
// only the NICs in use count.
double graph_efficiency(const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  if (!spec.nics || spec.device == "cpu") return 1;
  const auto& graph = spec.graph_multi_node;
  if (!graph || graph->channels <= 0 || graph->bw_inter.bytes_per_second <= 0)
    return port_share(spec, pcie_rate(spec.pcie));
  const int used = std::max(1, std::min(graph->channels, cluster.nics_per_node()));
  return std::min(1.0, graph->channels * graph->bw_inter.bytes_per_second / (used * port_rate(spec)));
}

Seconds load_time(const LinkLoad& load, const Cluster& cluster) {
  double rate = cluster.links()[load.link].rate.bytes_per_second;
  if (load.cap.bytes_per_second > 0) rate = std::min(rate, load.cap.bytes_per_second);
  return {load.occupancy / rate};
}

}  // namespace

Seconds CollectiveLoads::alone(const Cluster& cluster) const {
  Seconds slowest;
  for (const LinkLoad& load : loads) slowest = std::max(slowest, load_time(load, cluster));
  return start + slowest;
}

LinkId CollectiveLoads::bottleneck(const Cluster& cluster) const {
  return side_by_side({this}, cluster).bottleneck;
}

GroupShape group_shape(const std::vector<int>& ranks, const Cluster& cluster) {
  std::map<int, int> members_of_node;
  for (int rank : ranks) ++members_of_node[cluster.node_of(rank)];
  GroupShape shape{static_cast<int>(ranks.size()), static_cast<int>(members_of_node.size()), 0, 0};
  if (ranks.empty()) return shape;
  shape.min_per_node = shape.members;
  for (const auto& [node, members] : members_of_node) {
    shape.max_per_node = std::max(shape.max_per_node, members);
    shape.min_per_node = std::min(shape.min_per_node, members);
  }
  return shape;
}

// Readers of cluster files fill in every kind's defaults.
OverheadSpec overhead_of(CollectiveKind kind, bool across_nodes, const Cluster& cluster) {
  const auto& stated = cluster.spec().overheads;
  const auto found = stated.find(std::string(collective_kind_name(kind)));
  if (found == stated.end()) return {};
  return across_nodes ? found->second.across_nodes : found->second.in_node;
}

Seconds overhead_start(const OverheadSpec& overhead, const GroupShape& shape) {
  const int remote_peers = shape.members - shape.max_per_node;
  return overhead.start + static_cast<double>(remote_peers) * overhead.per_remote_peer;
}

Seconds pipeline_fill(const OverheadSpec& overhead, const CollectiveLoads& loads, const Cluster& cluster) {
  if (overhead.fill.value <= 0) return {};
  return {2 * std::sqrt(overhead.fill.value * (loads.alone(cluster) - loads.start).value)};
}

Seconds start_time(CollectiveKind kind, const GroupShape& shape, Seconds latency, const Cluster& cluster) {
  const OverheadSpec overhead = overhead_of(kind, shape.across_nodes(), cluster);
  const Seconds own = overhead_start(overhead, shape);
  if (overhead.start_is_fitted) return own;
  const bool peer_to_peer = kind == CollectiveKind::all_to_all || kind == CollectiveKind::send_recv;
  const Seconds launch = peer_to_peer ? Seconds{} : cluster.spec().launch_overhead;
  return launch + own + latency;
}

double port_share(const ClusterSpec& spec, Bandwidth slot) {
  return spec.nics ? std::min(1.0, slot.bytes_per_second / port_rate(spec)) : 1;
}

double nic_efficiency(CollectiveKind kind, bool across_nodes, const Cluster& cluster) {
  if (!across_nodes) return 1;
  const ClusterSpec& spec = cluster.spec();
  const double stated = overhead_of(kind, across_nodes, cluster).nic_efficiency.value_or(graph_efficiency(cluster));
  // Whatever an efficiency was fitted on, a faster NIC does not make the slot faster.
  return spec.device == "cpu" ? stated : std::min(stated, port_share(spec, pcie_line_rate(spec.pcie)));
}

}  // namespace shardsim
