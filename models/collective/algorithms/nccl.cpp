#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/error.h"
#include "models/collective/algorithms/schedules.h"
#include "models/collective/fitted_overheads.h"
#include "models/collective/nccl/cost.h"
#include "models/collective/nccl/kept_schedules.h"

namespace shardsim {
namespace {

// Bytes on the wire for one byte of data: LL sends a flag with every 4 bytes, LL128 one with every 120.
double wire_bytes(NcclProtocol protocol) {
  if (protocol == NcclProtocol::ll) return 2;
  return protocol == NcclProtocol::ll128 ? 128.0 / 120 : 1;
}

void add_schedule(const CollectiveCall& call, const NcclTime& chosen, bool crosses, const Cluster& cluster,
                  LoadBuilder& builder) {
  const auto nodes = members_by_node(call.ranks, cluster);
  switch (chosen.algorithm) {
    case NcclAlgorithm::nvls:
      return nodes.size() < 2 ? add_nvls(call, nodes, chosen.channels, cluster, builder)
                              : add_nvls_sharp(call, nodes, chosen.channels, cluster, builder);
    case NcclAlgorithm::collnet_direct:
      return add_collnet_direct(call, nodes, chosen.channels, cluster, builder);
    case NcclAlgorithm::collnet_chain:
      return add_collnet_chain(call, nodes, chosen.channels, cluster, builder);
    case NcclAlgorithm::nvls_tree:
      return add_nvls(call, nodes, chosen.channels, cluster, builder);
    case NcclAlgorithm::tree:
      return add_double_tree(call, nodes, chosen.channels, cluster, builder);
    default:  // PAT sends in other steps what a ring over the nodes sends
      return add_rings(call, nodes, chosen.channels, crosses, cluster, builder);
  }
}

// NCCL goes by line rates. Channels through NICs that carry less get what these carry, so that the choice between
// protocols is that of a NIC of this rate, and a faster one of the same limit changes nothing.
void limit_channels(NcclGraphs& graphs, const NicShare& nics) {
  const double all = graphs.nics * nics.most.bytes_per_second / 1e9;
  if (all <= 0) return;
  graphs.ring.bw_inter = std::min(graphs.ring.bw_inter, all / graphs.ring.count);
  graphs.ring.bw_intra = std::min(graphs.ring.bw_intra, all / graphs.ring.count);
  graphs.carried_ring = {};
  if (graphs.nvls.count > 0) graphs.nvls.bw_inter = std::min(graphs.nvls.bw_inter, all / graphs.nvls.count);
}

// Alone, no load may take less than NCCL's own time for the bytes, at the efficiency that the kind reaches.
std::vector<LinkLoad> bounded(std::vector<LinkLoad> loads, std::int64_t bytes, const NcclTime& chosen,
                              double efficiency, const Cluster& cluster) {
  const double per_second = chosen.carried.bytes_per_second * efficiency / static_cast<double>(bytes);
  for (LinkLoad& load : loads) {
    load.occupancy *= wire_bytes(chosen.protocol) / std::min(1.0, efficiency);
    const double cap = load.occupancy * per_second;
    if (cap < cluster.links()[load.link].rate.bytes_per_second) load.cap = {cap};
  }
  return loads;
}

// GB/s of bus bandwidth that a channel of a kernel moves by NVLS: 321 with NCCL's usual channels and 391 with 24 were
// published; that the usual ones were 16 is an assumption, and gives 20 for each. Others are bounded as NCCL bounds a
// channel of a tree.
constexpr double kNvlsChannel = 20;

double channel_rate(NcclAlgorithm algorithm, const NcclSetup& setup) {
  if (is_nvls(algorithm)) return kNvlsChannel;
  return setup.constants->tree[static_cast<std::size_t>(setup.generation)][setup.node_column()];
}

// A stated number of channels bounds what the kernels carry.
NcclTime bounded_by_channels(CollectiveKind kind, const NcclSetup& setup, NcclTime chosen) {
  if (setup.forced.channels == 0 || setup.group.ranks < 2) return chosen;
  const double bus = setup.forced.channels * channel_rate(chosen.algorithm, setup) * 1e9;
  const double share = static_cast<double>(setup.group.ranks) / nccl_steps(kind, setup.group.ranks);
  chosen.carried = std::min(chosen.carried, Bandwidth{bus * share});
  return chosen;
}

// The part of NCCL's latency that shows as time, by the cluster's latency_share.
Seconds shown_latency(const NcclTime& chosen, const OverheadSpec& overhead) {
  const double raised = overhead.plateau ? 1 : 1 / chosen.plateau;
  return overhead.latency_share * (chosen.protocol == NcclProtocol::simple ? raised : 1) * chosen.latency;
}

// The nodes that a chunk passes before a pipeline is full: every other one on a ring, the levels of a tree.
double nodes_passed(NcclAlgorithm algorithm, int nodes) {
  const bool climbs = algorithm == NcclAlgorithm::tree || algorithm == NcclAlgorithm::nvls_tree;
  return climbs ? std::ceil(std::log2(nodes)) : nodes - 1;
}

// The fill over several nodes. The constants of InfiniBand and RoCE were fitted with every other node in reductions,
// measured on 2 x 8 and 8 x 8 H100, and one node in gathers.
OverheadSpec over_nodes(OverheadSpec overhead, const CallShape& call, const NcclTime& chosen, const ClusterSpec& spec) {
  overhead.fill = overhead.fill_of(is_nvls(chosen.algorithm));
  if (!call.group.across_nodes()) return overhead;
  if (is_calibrated(spec.nics->transport)) {
    if (call.kind == CollectiveKind::all_reduce)
      overhead.fill = static_cast<double>(call.group.nodes - 1) * overhead.fill;
    return overhead;
  }
  overhead.fill = nodes_passed(chosen.algorithm, call.group.nodes) * overhead.fill;
  return overhead;
}

// A communicator whose calls are made by NCCL's own choice.
class NcclCalls {
 public:
  NcclCalls(const CollectiveCall& call, const Cluster& cluster, KeptSchedules* kept)
      : call_(call), cluster_(cluster), kept_(kept) {}

  // A call of so many bytes. Where a calibration made the constants it takes no longer than the smallest call of more
  // bytes for which NCCL chooses otherwise: NCCL takes the two choices for equally fast there, and what the constants
  // add to one of them and not to the other is no measurement.
  CollectiveLoads made(std::int64_t bytes) const {
    CollectiveLoads result = as_fitted(bytes);
    if (bytes == 0 || !is_measured(overhead_of(shape_of(bytes), cluster_))) return result;
    if (const std::optional<std::int64_t> next = next_choice(bytes)) limit(result, made(*next).alone(cluster_));
    return result;
  }

 private:
  CallShape shape_of(std::int64_t bytes) const {
    CallShape shape = call_shape(call_, cluster_);
    shape.bytes = bytes;
    return shape;
  }

  // The communicator, which is searched when it is first asked for: kept schedules need none.
  const NcclSetup& setup() const {
    if (!setup_) setup_ = searched();
    return *setup_;
  }

  NcclSetup searched() const {
    const ClusterSpec& spec = cluster_.spec();
    NcclSetup setup = nccl_setup(call_.ranks, cluster_);
    if (setup.group.across_nodes())
      limit_channels(setup.graphs, fed_by_slot(spec, {}, overhead_of(call_shape(call_, cluster_), cluster_).nic_rate));
    setup.collnet = spec.fabric.sharp && call_.kind == CollectiveKind::all_reduce;
    setup.nvls_reduces = call_.nvls_reduces;
    return setup;
  }

  NcclTime chosen_at(std::int64_t bytes) const {
    return bounded_by_channels(call_.kind, setup(), nccl_time(call_.kind, bytes, setup()));
  }

  NcclSchedule made_schedule(std::int64_t bytes, std::optional<Bandwidth> nic_rate) const {
    const ClusterSpec& spec = cluster_.spec();
    NcclSchedule schedule{chosen_at(bytes), {}};
    if (bytes == 0) return schedule;
    LoadBuilder builder(call_.ranks, cluster_, fed_by_slot(spec, pcie_rate(spec.pcie), nic_rate), 1);
    CollectiveCall sized = call_;
    sized.bytes = bytes;
    add_schedule(sized, schedule.chosen, setup().graphs.ring.crosses, cluster_, builder);
    schedule.loads = builder.loads();
    return schedule;
  }

  NcclSchedule schedule_of(std::int64_t bytes, std::optional<Bandwidth> nic_rate) const {
    const auto make = [&] { return made_schedule(bytes, nic_rate); };
    return kept_ == nullptr ? make() : kept_->of(call_, bytes, nic_rate, make);
  }

  CollectiveLoads as_fitted(std::int64_t bytes) const {
    CollectiveLoads result{{}, {}, true, "nccl", {}};
    const CallShape shape = shape_of(bytes);
    const ClusterSpec& spec = cluster_.spec();
    const OverheadSpec stated = overhead_of(shape, cluster_);
    NcclSchedule schedule = schedule_of(bytes, stated.nic_rate);
    const NcclTime& chosen = schedule.chosen;
    const OverheadSpec overhead = over_nodes(stated, shape, chosen, spec);
    result.start = spec.launch_overhead + overhead_start(overhead, shape.group) + shown_latency(chosen, overhead);
    if (bytes == 0) return result;
    result.algorithm = nccl_algorithm_name(chosen.algorithm);
    result.protocol = nccl_protocol_name(chosen.protocol);
    result.loads = bounded(std::move(schedule.loads), bytes, chosen, overhead.efficiency, cluster_);
    result.start = result.start + pipeline_fill(overhead, result, cluster_);
    return result;
  }

  // The fewest bytes, more than these, for which NCCL chooses another algorithm or protocol. Its estimates are straight
  // lines between powers of two, so that no choice comes back within an octave.
  std::optional<std::int64_t> next_choice(std::int64_t bytes) const {
    constexpr std::int64_t kMost = std::int64_t{16} << 30;
    const NcclTime here = chosen_at(bytes);
    const auto is_other = [&](std::int64_t size) {
      const NcclTime there = chosen_at(size);
      return there.algorithm != here.algorithm || there.protocol != here.protocol;
    };
    for (std::int64_t same = bytes; same < kMost;) {
      const auto octave = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(same) + 1));
      std::int64_t other = same + 1 < octave ? octave - 1 : octave;
      if (!is_other(other)) {
        same = other;
        continue;
      }
      while (other - same > 1) {
        const std::int64_t middle = same + (other - same) / 2;
        (is_other(middle) ? other : same) = middle;
      }
      return other;
    }
    return std::nullopt;
  }

  // Shortens all parts of a call alike, until it takes no longer than that alone.
  void limit(CollectiveLoads& result, Seconds most) const {
    const Seconds alone = result.alone(cluster_);
    if (alone <= most) return;
    const double share = most.value / alone.value;
    result.start = share * result.start;
    for (LinkLoad& load : result.loads) load.occupancy *= share;
  }

  const CollectiveCall& call_;
  const Cluster& cluster_;
  KeptSchedules* kept_;  // null: nothing is kept
  mutable std::optional<NcclSetup> setup_;
};

}  // namespace

CollectiveLoads expand_kept_nccl(const CollectiveCall& call, const Cluster& cluster, KeptSchedules* kept) {
  if (cluster.spec().device == "cpu")
    throw input_error({"collective algorithm"}, "NCCL runs on GPUs, and this cluster has none", "Use auto, or ring");
  return NcclCalls(call, cluster, kept).made(call.bytes);
}

// The algorithm that NCCL's own cost model chooses, with its latency and bandwidth (all_reduce, reduce_scatter,
// all_gather, broadcast); GPUs only.
CollectiveLoads expand_nccl(const CollectiveCall& call, const Cluster& cluster) {
  return expand_kept_nccl(call, cluster, nullptr);
}

}  // namespace shardsim
