#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective/byte_matrix.h"
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

// The distribution of a group's members over the nodes of the cluster.
struct GroupShape {
  int members = 0;
  int nodes = 0;  // nodes touched
  int max_per_node = 0;
  int min_per_node = 0;
  bool across_nodes() const { return nodes > 1; }
};
GroupShape group_shape(const std::vector<int>& ranks, const Cluster& cluster);

// The properties of a call that decide which of the cluster's overheads it takes.
struct CallShape {
  CollectiveKind kind = CollectiveKind::all_to_all;
  GroupShape group;
  std::int64_t bytes = 0;  // as nccl-tests counts; of an uneven all_to_all the most that a rank sends or receives
};
CallShape call_shape(const CollectiveCall& call, const Cluster& cluster);

// Time before bytes move: launch overhead (not all_to_all), start, per-remote-peer cost and `latency` of the steps; a
// fitted start replaces launch overhead and latency (docs/formats/cluster.md, cluster key `overheads`).
Seconds start_time(const CallShape& call, Seconds latency, const Cluster& cluster);

// The overheads that the cluster states for calls of that kind and reach. If they hold only for other sizes, groups or
// wirings (`holds_for`), the public defaults; but of calls across nodes that were calibrated (`held_out`) in groups of
// another size, what was fitted for the nearest one, with larger errors.
OverheadSpec overhead_of(const CallShape& call, const Cluster& cluster);
OverheadSpec overhead_of(const CallShape& call, const ClusterSpec& spec);

// True when the cluster states which share of the NICs' rate such calls reach across nodes. Then these calls are timed
// by their loads on links, also inside a node, and not by NCCL's own model, which has no such share.
bool timed_by_loads(const CallShape& call, const Cluster& cluster);

// Why the values that were fitted for the kind and reach of a call are not used for it: "1024 ranks (fitted for 32)";
// "" if they are used.
std::string outside_fit(const CallShape& call, const Cluster& cluster);

// "128 ranks (fitted for 64)" if the values that were fitted are used for a group of another size than was measured;
// else "".
std::string extrapolated_fit(const CallShape& call, const Cluster& cluster);

// Why a fitted nvb_efficiency does not hold for a call of these ranks, although it is used for the call; "" if it
// holds, or nothing is relayed. Across nodes the NICs are the limit, not the relays.
std::string outside_relay_fit(const CallShape& call, const std::vector<int>& ranks, const Cluster& cluster);

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

// Calls that start at the same time and share what links they have in common, max-min fairly, as a simulation does.
struct SideBySide {
  Seconds time;            // until the last one ends when nothing else runs
  LinkId bottleneck = -1;  // the link that ends last, of links that end together the busiest; -1: nothing moves
};
SideBySide side_by_side(const std::vector<const CollectiveLoads*>& calls, const Cluster& cluster);

}  // namespace shardsim
