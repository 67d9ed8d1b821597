#include "models/collective.h"

#include <algorithm>
#include <map>

namespace shardsim {
namespace {

constexpr double kSameTime = 1e-9;  // relative; closer ends are ends together

// Readers of cluster files fill in every kind's defaults.
OverheadSpec overhead_of(CollectiveKind kind, bool across_nodes, const Cluster& cluster) {
  const auto& stated = cluster.spec().overheads;
  const auto found = stated.find(std::string(collective_kind_name(kind)));
  if (found == stated.end()) return {};
  return across_nodes ? found->second.across_nodes : found->second.in_node;
}

// Share of the NICs that the channels can fill. Fewer channels than NICs leave NICs idle (they carry no load), so
// only the NICs in use count.
double graph_efficiency(const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  if (!spec.nics || spec.device == "cpu") return 1;
  const double nic = spec.nics->rate.bytes_per_second * std::max(1, spec.nics->per_gpu);  // several act as one port
  const auto& graph = spec.graph_multi_node;
  if (!graph || graph->channels <= 0 || graph->bw_inter.bytes_per_second <= 0)
    return std::min(1.0, pcie_rate(spec.pcie).bytes_per_second / nic);
  const int used = std::max(1, std::min(graph->channels, cluster.nics_per_node()));
  return std::min(1.0, graph->channels * graph->bw_inter.bytes_per_second / (used * nic));
}

Seconds load_time(const LinkLoad& load, const Cluster& cluster) {
  double rate = cluster.links()[load.link].rate.bytes_per_second;
  if (load.cap.bytes_per_second > 0) rate = std::min(rate, load.cap.bytes_per_second);
  return {load.occupancy / rate};
}

// [link], all calls together.
std::vector<double> total_occupancy(const std::vector<const CollectiveLoads*>& calls, const Cluster& cluster) {
  std::vector<double> total(cluster.links().size(), 0.0);
  for (const CollectiveLoads* call : calls)
    for (const LinkLoad& load : call->loads) total[load.link] += load.occupancy;
  return total;
}

}  // namespace

std::string_view collective_kind_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_to_all:
      return "all_to_all";
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::send_recv:
      return "send_recv";
  }
  return "unknown";
}

Seconds CollectiveLoads::alone(const Cluster& cluster) const {
  Seconds slowest;
  for (const LinkLoad& load : loads) slowest = std::max(slowest, load_time(load, cluster));
  return start + slowest;
}

LinkId CollectiveLoads::bottleneck(const Cluster& cluster) const {
  return side_by_side({this}, cluster).bottleneck;
}

SideBySide side_by_side(const std::vector<const CollectiveLoads*>& calls, const Cluster& cluster) {
  SideBySide result;
  const std::vector<double> shared = calls.size() > 1 ? total_occupancy(calls, cluster) : std::vector<double>{};
  double busiest = 0, until = 0;
  for (const CollectiveLoads* call : calls) {
    result.time = std::max(result.time, call->start);
    for (const LinkLoad& load : call->loads) {
      const double together = shared.empty() ? load.occupancy : shared[load.link];
      const double busy = together / cluster.links()[load.link].rate.bytes_per_second;
      const double end = call->start.value + std::max(busy, load_time(load, cluster).value);
      result.time = std::max(result.time, Seconds{end});
      const bool later = end > until * (1 + kSameTime);
      if (!later && (end < until * (1 - kSameTime) || busy <= busiest)) continue;
      until = later ? end : until;
      busiest = busy;
      result.bottleneck = load.link;
    }
  }
  return result;
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

Seconds start_time(CollectiveKind kind, const GroupShape& shape, Seconds latency, const Cluster& cluster) {
  const OverheadSpec overhead = overhead_of(kind, shape.across_nodes(), cluster);
  const int remote_peers = shape.members - shape.max_per_node;
  const Seconds own = overhead.start + static_cast<double>(remote_peers) * overhead.per_remote_peer;
  if (overhead.start_is_fitted) return own;
  const bool peer_to_peer = kind == CollectiveKind::all_to_all || kind == CollectiveKind::send_recv;
  const Seconds launch = peer_to_peer ? Seconds{} : cluster.spec().launch_overhead;
  return launch + own + latency;
}

double nic_efficiency(CollectiveKind kind, bool across_nodes, const Cluster& cluster) {
  if (!across_nodes) return 1;
  return overhead_of(kind, across_nodes, cluster).nic_efficiency.value_or(graph_efficiency(cluster));
}

}  // namespace shardsim
