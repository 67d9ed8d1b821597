#pragma once

#include <optional>
#include <vector>

#include "models/collective/call_overheads.h"
#include "models/collective/collective.h"
#include "topology/graph/cluster.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// A closed order of some GPUs of one node, and how many NVLinks wide it is.
struct MeshRing {
  std::vector<int> gpus;
  int links = 1;
  bool operator==(const MeshRing&) const = default;
};

// Rings over direct NVLinks only, both ways round, that together use as many links as can be found: each step takes the
// cycle whose thinnest pair has most links left. This finds what NCCL's channel search uses on the hybrid cube mesh:
// the double links form one cycle, the single links another. Empty when no cycle joins all `gpus` (3 or more).
// The search is bounded, and the same for the same input.
std::vector<MeshRing> mesh_rings(const std::vector<int>& gpus, const NvlinkSpec& nvlink);

// One channel inside one node: the order in which it passes the group's ranks there, and its share of the bytes.
struct NodeChannel {
  std::vector<int> ranks;
  double share = 1;
};

// The members of a group on one node.
struct NodeMembers {
  int node = 0;
  std::vector<int> ranks;      // rising
  std::vector<int> positions;  // in the group, of each of `ranks`
};

std::vector<NodeMembers> members_by_node(const std::vector<int>& ranks, const Cluster& cluster);  // by rising node

// The closed rings of a group's ranks inside each of its nodes, [node][ring]; shares sum to 1 on every node. Orders:
// the cluster's graph where it states them, else rings over the links of a mesh, else one ring in index order (over a
// switch every order costs the same).
std::vector<std::vector<NodeChannel>> rings_in_nodes(const std::vector<NodeMembers>& nodes, const Cluster& cluster);

// The channels of a group over several nodes, alike on every node: [node][channel]. `channels` of them, or with 0
// as many as the cluster's graph states, else one per NIC in use. Channel c starts at the rank that has the c-th NIC,
// so that each NIC carries its own channels in and out (NVIDIA/nccl src/graph/search.cc).
std::vector<std::vector<NodeChannel>> channels_across(const std::vector<NodeMembers>& nodes, int channels,
                                                      const Cluster& cluster);

// Channels that NCCL gives each pair of ranks on different nodes in a group of send/recv (all_to_all): stated in the
// cluster file, else by the rule of NVIDIA/nccl (src/graph/paths.cc ncclTopoComputeP2pChannels, src/init.cc): from 2.19
// one per NIC of the GPU or per 14 GB/s of its NIC, before that 2; never more than pairs inside a node get; halved
// while all peers of a rank together would need more channels than there are.
int channels_per_remote_peer(const GroupShape& shape, const Cluster& cluster);

// The same as a rate: most that one rank sends to one rank of another node, in bytes per second.
Bandwidth remote_pair_rate(const GroupShape& shape, const Cluster& cluster);

// Channels that carry one send of a group of `ranks` on one node whose GPUs an NVSwitch joins (NVIDIA/nccl
// src/enqueue.cc, scheduleP2pTasksToPlan): as many as leave each rank of the group its own, then twice as many for as
// long as one of them would carry more than 16 MiB.
int channels_of_send(std::int64_t bytes, int ranks, const ClusterSpec& spec);

// The rate of such a channel; absent where no channels limit a pair: in groups across nodes, without an NVSwitch, and
// where the cluster states no rate.
std::optional<Bandwidth> channel_rate_of(const CallShape& shape, const Cluster& cluster);

// True when bytes for another rail leave by a GPU of their node that has that rail's NIC (PXN): as the cluster file
// says, else wherever NVLinks and GPUDirect are.
bool uses_pxn(const Cluster& cluster);

// Who sends for whom in a node with PXN. `node` and `cluster` outlive it.
class RailSenders {
 public:
  RailSenders(const NodeMembers& node, const Cluster& cluster);

  int node() const { return node_.node; }
  // The member whose NIC takes a rank's bytes for a rail (a NIC's place in its node): the rank itself where it has that
  // NIC, or where no GPU with that NIC is at the other end of an NVLink.
  int of(int rank, int rail) const;

 private:
  const NodeMembers& node_;
  const Cluster& cluster_;
  std::vector<int> first_;  // by rail: the first member that has it; -1 for none
};

}  // namespace shardsim
