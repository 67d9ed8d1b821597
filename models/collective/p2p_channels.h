#pragma once

#include "models/collective/channel_layout.h"
#include "models/collective/collective.h"

namespace shardsim {

// Channels that NCCL gives each pair of ranks on different nodes in a group of send/recv (all_to_all): stated in the
// cluster file, else by the rule of NVIDIA/nccl (src/graph/paths.cc ncclTopoComputeP2pChannels, src/init.cc): from 2.19
// one per NIC of the GPU or per 14 GB/s of its NIC, before that 2; never more than pairs inside a node get; halved
// while all peers of a rank together would need more channels than there are.
int channels_per_remote_peer(const GroupShape& shape, const Cluster& cluster);

// The same as a rate: most that one rank sends to one rank of another node, in bytes per second.
Bandwidth remote_pair_rate(const GroupShape& shape, const Cluster& cluster);

// Whether bytes for another rail leave by a GPU of their node that has that rail's NIC (PXN): as the cluster file says,
// else wherever NVLinks and GPUDirect are.
bool uses_pxn(const Cluster& cluster);

// The member of a rank's node whose NIC takes the rank's bytes for a rail (a NIC's place in its node): the rank itself
// where it has that NIC, or where no GPU with that NIC is at the other end of an NVLink.
int rail_sender(int rank, int rail, const NodeMembers& node, const Cluster& cluster);

}  // namespace shardsim
