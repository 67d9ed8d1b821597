#include "models/collective/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

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

// Readers of cluster files fill in every kind's defaults; null for a spec made by hand that lacks the kind.
const OverheadSpec* stated_overhead(const CallShape& call, const ClusterSpec& spec) {
  const auto found = spec.overheads.find(std::string(collective_kind_name(call.kind)));
  if (found == spec.overheads.end()) return nullptr;
  return call.group.across_nodes() ? &found->second.across_nodes : &found->second.in_node;
}

// The number of ranks within the range that is nearest to those of a group.
int nearest_ranks(const FitRange& range, int ranks) {
  const int at_least = std::max(ranks, range.ranks_from);
  return range.ranks_to > 0 ? std::min(at_least, range.ranks_to) : at_least;
}

std::string outside_ranks(const FitRange& range, int ranks) {
  if (nearest_ranks(range, ranks) == ranks) return "";
  return fmt::format("{} ranks (fitted for {})", ranks, ranks_text(range));
}

// The first thing about a call that a fit does not cover, "" when it covers all.
std::string outside(const FitRange& range, const CallShape& call, const ClusterSpec& spec) {
  const std::string_view wiring = nvlink_kind_name(spec.nvlink.kind);
  if (!range.nvlink.empty() && range.nvlink != wiring)
    return fmt::format("nvlink.kind {} (fitted on {})", wiring, range.nvlink);
  if (std::string ranks = outside_ranks(range, call.group.members); !ranks.empty()) return ranks;
  const Bytes bytes{call.bytes};
  if (bytes < range.bytes_from) return fmt::format("{} (fitted from {} on)", to_text(bytes), to_text(range.bytes_from));
  if (range.bytes_to && bytes > *range.bytes_to)
    return fmt::format("{} (fitted up to {})", to_text(bytes), to_text(*range.bytes_to));
  return "";
}

// True when a calibration measured such calls only in groups of another size. Its constants are those of the NICs and
// of NCCL on them: they do not become the public defaults where there are more nodes, or fewer.
bool is_extrapolated(const OverheadSpec& stated, const CallShape& call, const ClusterSpec& spec) {
  if (!call.group.across_nodes() || !stated.held_out || !stated.holds_for) return false;
  CallShape measured = call;
  measured.group.members = nearest_ranks(*stated.holds_for, call.group.members);
  return measured.group.members != call.group.members && outside(*stated.holds_for, measured, spec).empty();
}

// The scale of what every doubling of ranks beyond those that were measured adds to the errors there: a guess, for few
// systems have published times at several numbers of nodes.
constexpr double kScaleOfDoubling = 0.1;

OverheadSpec extrapolated(OverheadSpec stated, int ranks) {
  const double ratio = static_cast<double>(ranks) / nearest_ranks(*stated.holds_for, ranks);
  const double more = kScaleOfDoubling * std::abs(std::log2(ratio));
  HeldOutCalls& scales = *stated.held_out;
  for (auto* const scale : {&scales.below_64kib, &scales.from_64kib, &scales.from_1mib, &scales.from_64mib})
    if (*scale) *scale = std::hypot(**scale, more);
  return stated;
}

}  // namespace

Seconds CollectiveLoads::alone(const Cluster& cluster) const {
  return side_by_side({this}, cluster).time;
}

LinkId CollectiveLoads::bottleneck(const Cluster& cluster) const {
  return side_by_side({this}, cluster).bottleneck;
}

GroupShape group_shape(const std::vector<int>& ranks, const Cluster& cluster) {
  std::map<int, int> members_of_node;
  auto last = members_of_node.end();  // neighbours among the members share a node
  for (const int rank : ranks) {
    const int node = cluster.node_of(rank);
    if (last == members_of_node.end() || last->first != node) last = members_of_node.try_emplace(node, 0).first;
    ++last->second;
  }
  GroupShape shape{static_cast<int>(ranks.size()), static_cast<int>(members_of_node.size()), 0, 0};
  if (ranks.empty()) return shape;
  shape.min_per_node = shape.members;
  for (const auto& [node, members] : members_of_node) {
    shape.max_per_node = std::max(shape.max_per_node, members);
    shape.min_per_node = std::min(shape.min_per_node, members);
  }
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

OverheadSpec overhead_of(const CallShape& call, const Cluster& cluster) {
  return overhead_of(call, cluster.spec());
}

OverheadSpec overhead_of(const CallShape& call, const ClusterSpec& spec) {
  const OverheadSpec* const stated = stated_overhead(call, spec);
  if (stated == nullptr) return {};
  if (!stated->holds_for || outside(*stated->holds_for, call, spec).empty()) return *stated;
  if (is_extrapolated(*stated, call, spec)) return extrapolated(*stated, call.group.members);
  return default_overhead(std::string(collective_kind_name(call.kind)), call.group.across_nodes());
}

bool timed_by_loads(const CallShape& call, const Cluster& cluster) {
  if (call.group.across_nodes()) return overhead_of(call, cluster).nic_efficiency.has_value();
  const auto found = cluster.spec().overheads.find(std::string(collective_kind_name(call.kind)));
  if (found == cluster.spec().overheads.end()) return false;
  const OverheadSpec& across = found->second.across_nodes;
  const bool other_wiring = across.holds_for && !across.holds_for->nvlink.empty() &&
                            across.holds_for->nvlink != nvlink_kind_name(cluster.spec().nvlink.kind);
  return across.nic_efficiency && !other_wiring;
}

std::string outside_fit(const CallShape& call, const Cluster& cluster) {
  const OverheadSpec* const stated = stated_overhead(call, cluster.spec());
  if (!stated || !stated->holds_for || is_extrapolated(*stated, call, cluster.spec())) return "";
  return outside(*stated->holds_for, call, cluster.spec());
}

std::string extrapolated_fit(const CallShape& call, const Cluster& cluster) {
  const OverheadSpec* const stated = stated_overhead(call, cluster.spec());
  if (!stated || !is_extrapolated(*stated, call, cluster.spec())) return "";
  return outside_ranks(*stated->holds_for, call.group.members);
}

std::string outside_relay_fit(const CallShape& call, const std::vector<int>& ranks, const Cluster& cluster) {
  const auto& range = cluster.spec().nvlink.nvb_holds_for;
  if (!range || !is_peer_to_peer(call.kind) || call.group.across_nodes()) return "";
  for (int a : ranks)
    for (int b : ranks)
      if (a != b && cluster.local_route(cluster.gpu_of(a), cluster.gpu_of(b)).relay)
        return outside(*range, call, cluster.spec());
  return "";
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
  if (overhead.start_is_fitted) return own;
  const Seconds launch = is_peer_to_peer(call.kind) ? Seconds{} : cluster.spec().launch_overhead;
  return launch + own + latency;
}

double NicShare::of(Bandwidth port) const {
  if (most.bytes_per_second <= 0) return share;
  return std::min(share, most.bytes_per_second / port.bytes_per_second);
}

NicShare fed_by_slot(const ClusterSpec& spec, Bandwidth slot, std::optional<Bandwidth> nic_rate) {
  if (!spec.nics) return {};
  return {1, nic_rate ? lower(slot, nics_of_port(spec) * *nic_rate) : slot};
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
  return result;
}

double nic_efficiency(const CallShape& call, const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  return spec.nics ? nic_share(call, cluster).of(nics_of_port(spec) * spec.nics->rate) : 1;
}

}  // namespace shardsim
