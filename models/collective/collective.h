#pragma once

#include <memory>
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

// Expands calls into loads.
// Contract: every byte that crosses a link is in that link's load; sums of bytes out equal sums of bytes in; no load
// exceeds what the algorithm's schedule sends. `supports` says which kinds it can do.
class CollectiveAlgorithm {
 public:
  virtual ~CollectiveAlgorithm() = default;
  virtual bool supports(CollectiveKind kind) const = 0;
  virtual CollectiveLoads expand(const CollectiveCall& call, const Cluster& cluster) const = 0;
};

struct CollectiveEntry {
  std::string_view name;
  std::string_view help;
  std::unique_ptr<CollectiveAlgorithm> (*make)();
};

std::span<const CollectiveEntry> collective_algorithms();  // alphabetical

// Refuses ranks that are not in the cluster, or are named twice (Failure::input, at the kind's name).
void check_group(CollectiveKind kind, const std::vector<int>& ranks, const Cluster& cluster);

// By the algorithm of that name. "auto": what NCCL chooses, for the kinds that it has a cost model for, on GPUs, unless
// the cluster states the kind's NIC efficiency; else the fastest of the others that supports the kind (ties: first in
// the table). Errors: unknown name; an algorithm that cannot do this kind.
CollectiveLoads expand_collective(const CollectiveCall& call, const Cluster& cluster, std::string_view algorithm);

// How the members of a group lie on the cluster.
struct GroupShape {
  int members = 0;
  int nodes = 0;  // nodes touched
  int max_per_node = 0;
  int min_per_node = 0;
  bool across_nodes() const { return nodes > 1; }
};
GroupShape group_shape(const std::vector<int>& ranks, const Cluster& cluster);

// Time before bytes move: launch overhead (not all_to_all), start, per-remote-peer cost and `latency` of the steps; a
// fitted start replaces launch overhead and latency (docs/formats.md, cluster key `overheads`).
Seconds start_time(CollectiveKind kind, const GroupShape& shape, Seconds latency, const Cluster& cluster);

// What the cluster says of a kind in that reach.
OverheadSpec overhead_of(CollectiveKind kind, bool across_nodes, const Cluster& cluster);

// Its start with the part of the remote peers.
Seconds overhead_start(const OverheadSpec& overhead, const GroupShape& shape);

// Time that a pipeline of chunks needs to fill and empty, 2 sqrt(fill x time of the bytes): more and smaller chunks
// fill sooner and cost more each.
Seconds pipeline_fill(const OverheadSpec& overhead, const CollectiveLoads& loads, const Cluster& cluster);

// Share of a GPU's NIC port that a PCIe slot of that rate can feed; 1 without NICs.
double port_share(const ClusterSpec& spec, Bandwidth slot);

// Share of a NIC's line rate that this kind reaches.
double nic_efficiency(CollectiveKind kind, bool across_nodes, const Cluster& cluster);

}  // namespace shardsim
