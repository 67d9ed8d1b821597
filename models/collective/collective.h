#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective/byte_matrix.h"
#include "models/collective/call_overheads.h"
#include "models/collective/collective_kind.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// One call of a collective by the members of one group.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::all_to_all;
  std::vector<int> ranks;              // members, in group order; a broadcast's root is the first
  const ByteMatrix* matrix = nullptr;  // all_to_all
  // all_reduce, broadcast: buffer; all_gather, reduce_scatter: total per rank; send_recv: what each member sends to the
  // next one in the group, the last one to the first.
  std::int64_t bytes = 0;
  bool nvls_reduces = true;  // NVSwitches can reduce these elements; see nvls_reduces()
};

// Bytes that one link carries in a call, as one aggregated transfer.
struct LinkLoad {
  LinkId link = 0;
  double bytes = 0;      // true bytes, for accounting
  double occupancy = 0;  // bytes divided by the efficiency of that kind on that link: what it takes of the link
  Bandwidth cap;         // most that the transfer may draw, in occupancy per second; 0: the link's rate
};

// A call expanded over the cluster: nothing moves for `start`, then all loads at once.
struct CollectiveLoads {
  Seconds start;
  std::vector<LinkLoad> loads;  // at most one per link, by rising link id
  bool synchronising = false;   // all members end together (all_reduce and its kin)
  std::string algorithm;        // "direct", "ring", "tree", "two_level"; by NCCL's choice "Ring", "Tree", ...
  std::string protocol;         // of NCCL: "LL", "LL128", "Simple"; empty where none is told apart

  // Duration when nothing else runs: start plus the slowest load.
  Seconds alone(const Cluster& cluster) const;
  // The link that sets it, or -1; of links that end together the one nearest its rate.
  LinkId bottleneck(const Cluster& cluster) const;
};

// A way to expand calls into loads.
// Contract of `expand`: every byte that crosses a link is in that link's load; sums of bytes out equal sums of bytes
// in; no load exceeds what the algorithm's schedule sends. It is asked for kinds that it supports, and two ranks or
// more.
using CollectiveExpander = CollectiveLoads(const CollectiveCall& call, const Cluster& cluster);

struct CollectiveEntry {
  std::string_view name;
  std::string_view help;
  bool (*supports)(CollectiveKind kind);
  CollectiveExpander* expand;
};

std::span<const CollectiveEntry> collective_algorithms();  // alphabetical

// Refuses ranks that are not in the cluster, or are named twice (Failure::input, at the kind's name).
void check_group(CollectiveKind kind, const std::vector<int>& ranks, const Cluster& cluster);

// By the algorithm of that name. "auto": what NCCL chooses, for the kinds that it has a cost model for, on GPUs, unless
// the cluster states the kind's NIC efficiency; else the fastest of the others that supports the kind (ties: first in
// the table). Errors: unknown name; an algorithm that cannot do this kind.
CollectiveLoads expand_collective(const CollectiveCall& call, const Cluster& cluster, std::string_view algorithm);

class KeptSchedules;
// By "auto", for whoever asks for the same calls of one machine again and again
// (models/collective/nccl/kept_schedules.h).
CollectiveLoads expand_collective(const CollectiveCall& call, const Cluster& cluster, KeptSchedules& kept);

// Returns how the members of a group lie in the cluster.
GroupShape group_shape(const std::vector<int>& ranks, const Cluster& cluster);

// Its kind, group and size, which decide which of the cluster's overheads it takes.
CallShape call_shape(const CollectiveCall& call, const Cluster& cluster);

// Time before bytes move: launch overhead (not all_to_all), start, per-remote-peer cost and `latency` of the steps; a
// fitted start replaces launch overhead and latency (docs/formats/cluster.md, cluster key `overheads`).
Seconds start_time(const CallShape& call, Seconds latency, const Cluster& cluster);

// Its start with the part of the remote peers.
Seconds overhead_start(const OverheadSpec& overhead, const GroupShape& shape);

// Time that a pipeline of chunks needs to fill and empty, 2 sqrt(fill x time of the bytes): more and smaller chunks
// fill sooner and cost more each.
Seconds pipeline_fill(const OverheadSpec& overhead, const CollectiveLoads& loads, const Cluster& cluster);

// The part of a NIC port's rate that a call gets: a share of the rate, limited by the rate at which the port is fed or
// emptied. The limit stays the same when a NIC is faster, or broken.
struct NicShare {
  double share = 1;
  Bandwidth most;                   // 0: no limit
  double of(Bandwidth port) const;  // of the rate of that port, above 0 and at most 1
};

// With PCIe slots of that rate, and at most the stated rate of one NIC.
NicShare fed_by_slot(const ClusterSpec& spec, Bandwidth slot, std::optional<Bandwidth> nic_rate);

// The share for such a call on GPUs or CPU ranks, where its loads time it.
NicShare nic_share(const CallShape& call, const Cluster& cluster);

// Share of a NIC's line rate that such a call reaches; 1 inside a node.
double nic_efficiency(const CallShape& call, const Cluster& cluster);

// True when the slot of a NIC, and not its rate, bounds collectives of that name over all nodes by more than some
// per cent. False for other names, within a node, and where there are no NICs.
bool slots_limit_nics(std::string_view collective, const Cluster& cluster);

// Calls that start at the same time and share what links they have in common, max-min fairly, as a simulation does.
struct SideBySide {
  Seconds time;            // until the last one ends when nothing else runs
  LinkId bottleneck = -1;  // the link that ends last, of links that end together the busiest; -1: nothing moves
};
SideBySide side_by_side(const std::vector<const CollectiveLoads*>& calls, const Cluster& cluster);

}  // namespace shardsim
