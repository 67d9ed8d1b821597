#include "models/collective/collective.h"

#include <algorithm>
#include <cmath>

#include "models/collective/fitted_overheads.h"

namespace shardsim {
namespace {

// Several NICs of a GPU act as one port.
int nics_of_port(const ClusterSpec& spec) {
  return std::max(1, spec.nics->per_gpu);
}

// The lower of two limits, where 0 means no limit.
Bandwidth lower(Bandwidth a, Bandwidth b) {
  if (a.bytes_per_second <= 0 || b.bytes_per_second <= 0) return std::max(a, b);
  return std::min(a, b);
}

// The rate at which the channels can fill one NIC port. Fewer channels than NICs leave NICs idle (they carry no load),
// so only the NICs in use count.
Bandwidth filled_by_graph(const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  const auto& graph = spec.graph_multi_node;
  if (!graph || graph->channels <= 0 || graph->bw_inter.bytes_per_second <= 0) return pcie_rate(spec.pcie);
  const int used = std::max(1, std::min(graph->channels, cluster.nics_per_node()));
  return {graph->channels * graph->bw_inter.bytes_per_second / used};
}

// [node with members, by rising number] how many. Neighbours among the members mostly share a node, and nodes mostly
// rise; where they do not, those of one node are brought together.
std::vector<int> members_by_rising_node(const std::vector<int>& ranks, const Cluster& cluster) {
  struct OnNode {
    int node = 0, members = 0;
  };
  std::vector<OnNode> runs;
  bool rising = true;
  for (const int rank : ranks) {
    const int node = cluster.node_of(rank);
    if (runs.empty() || runs.back().node != node) {
      rising = rising && (runs.empty() || runs.back().node < node);
      runs.push_back({node, 0});
    }
    ++runs.back().members;
  }
  if (!rising) std::ranges::sort(runs, {}, &OnNode::node);
  std::vector<int> members;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (run > 0 && runs[run].node == runs[run - 1].node) {
      members.back() += runs[run].members;
    } else {
      members.push_back(runs[run].members);
    }
  }
  return members;
}

}  // namespace

Seconds CollectiveLoads::alone(const Cluster& cluster) const {
  return side_by_side({this}, cluster).time;
}

LinkId CollectiveLoads::bottleneck(const Cluster& cluster) const {
  return side_by_side({this}, cluster).bottleneck;
}

GroupShape group_shape(const std::vector<int>& ranks, const Cluster& cluster) {
  const std::vector<int> members_of_node = members_by_rising_node(ranks, cluster);
  GroupShape shape{static_cast<int>(ranks.size()), static_cast<int>(members_of_node.size()), 0, 0};
  if (ranks.empty()) return shape;
  const auto [least, most] = std::ranges::minmax(members_of_node);
  shape.max_per_node = most;
  shape.min_per_node = least;
  return shape;
}

CallShape call_shape(const CollectiveCall& call, const Cluster& cluster) {
  CallShape shape{call.kind, group_shape(call.ranks, cluster), call.bytes};
  if (call.kind != CollectiveKind::all_to_all || !call.matrix) return shape;
  shape.bytes = 0;
  if (shape.group.members == 0) return shape;
  shape.bytes = std::max(std::ranges::max(call.matrix->all_sent(shape.group.members)),
                         std::ranges::max(call.matrix->all_received(shape.group.members)));
  return shape;
}

Seconds overhead_start(const OverheadSpec& overhead, const GroupShape& shape) {
  const int remote_peers = shape.members - shape.max_per_node;
  return overhead.start + static_cast<double>(remote_peers) * overhead.per_remote_peer;
}

Seconds pipeline_fill(const OverheadSpec& overhead, const CollectiveLoads& loads, const Cluster& cluster) {
  if (overhead.fill.value <= 0) return {};
  return {2 * std::sqrt(overhead.fill.value * (loads.alone(cluster) - loads.start).value)};
}

Seconds start_time(const CallShape& call, Seconds latency, const Cluster& cluster) {
  const OverheadSpec overhead = overhead_of(call, cluster);
  const Seconds own = overhead_start(overhead, call.group);
  const Seconds launch = is_peer_to_peer(call.kind) ? Seconds{} : cluster.spec().launch_overhead;
  return overhead.beside_start * launch + own + overhead.beside_start * latency;
}

double NicShare::of(Bandwidth port) const {
  if (most.bytes_per_second <= 0) return share;
  return std::min(share, most.bytes_per_second / port.bytes_per_second);
}

NicShare fed_by_slot(const ClusterSpec& spec, Bandwidth slot, std::optional<Bandwidth> nic_rate) {
  if (!spec.nics) return {};
  return {1, nic_rate ? lower(slot, nics_of_port(spec) * *nic_rate) : slot};
}

// The part of its rate that a NIC keeps in an all-to-all over a fabric that loses some to it (`fabric.collapse`): the
// more nodes, the less. The only published rows over many nodes are ALCF Polaris's. With 1 GiB a rank its NICs carry
// over 256 and 540 nodes 0.94 and 0.75 of what they do over 8 (Slingshot, settings env5), and over 128 nodes 0.87 (TCP,
// env1), which are exponents of 0.02, 0.07 and 0.05. Fewer nodes show nothing.
double kept_under_all_to_all(const CallShape& call, const FabricSpec& fabric) {
  constexpr double kExponent = .05;
  constexpr int kNodesFrom = 8;
  if (!fabric.collapse || call.kind != CollectiveKind::all_to_all || call.group.nodes <= kNodesFrom) return 1;
  return std::pow(static_cast<double>(kNodesFrom) / call.group.nodes, kExponent);
}

NicShare nic_share(const CallShape& call, const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  if (!call.group.across_nodes() || !spec.nics) return {};
  const OverheadSpec overhead = overhead_of(call, cluster);
  // Whatever an efficiency was fitted on, a faster NIC does not make the slot faster.
  const bool cpus = spec.device == "cpu";
  NicShare result = fed_by_slot(spec, cpus ? Bandwidth{} : pcie_line_rate(spec.pcie), overhead.nic_rate);
  result.share = overhead.nic_efficiency.value_or(1);
  if (!overhead.nic_efficiency && !cpus) result.most = lower(result.most, filled_by_graph(cluster));
  const double kept = kept_under_all_to_all(call, spec.fabric);
  result.share *= kept;
  result.most = kept * result.most;
  return result;
}

double nic_efficiency(const CallShape& call, const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  return spec.nics ? nic_share(call, cluster).of(nics_of_port(spec) * spec.nics->rate) : 1;
}

bool slots_limit_nics(std::string_view collective, const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  const std::optional<CollectiveKind> kind = collective_kind_named(collective);
  if (!kind || !spec.nics || spec.nodes < 2 || spec.device == "cpu") return false;
  const int ranks = cluster.ranks_per_node();
  const OverheadSpec overhead = overhead_of({*kind, {spec.nodes * ranks, spec.nodes, ranks, ranks}, kGiB}, cluster);
  const bool by_loads = overhead.nic_efficiency.has_value();
  if (!by_loads && spec.graph_multi_node) return false;  // the file says what the channels carry
  const Bandwidth slot = by_loads ? pcie_line_rate(spec.pcie) : pcie_rate(spec.pcie);
  Bandwidth wanted = overhead.nic_efficiency.value_or(1) * nics_of_port(spec) * spec.nics->rate;
  if (overhead.nic_rate) wanted = lower(wanted, nics_of_port(spec) * *overhead.nic_rate);
  return wanted.bytes_per_second > kTellingSlot * slot.bytes_per_second;
}

}  // namespace shardsim
