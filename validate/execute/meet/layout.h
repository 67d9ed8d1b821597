#pragma once

#include <string>
#include <vector>

namespace shardsim {

// The place where a rank runs.
struct RankSeat {
  std::string node;  // equal for ranks of one node, and of no other: node_identity()
  std::string gpu;   // equal for ranks of one GPU: its UUID
  std::string host;  // its name, for messages
};

// The name that tells nodes apart: NCCL_HOSTID where it is set, by which NCCL itself does; else the boot of the kernel,
// which containers of one node share although each may have a host name of its own.
std::string node_identity();

std::string host_name();  // of this machine, for messages and files

// Refuses ranks, by number, that are not on nodes as a Program of so many ranks per node has them: ranks 0 to 7 on one
// node, 8 to 15 on another. Byte matrices and tiers would mean other links than those that carry them. gpus_shared: a
// GPU may have several ranks. Errors (Failure::input): another number of ranks on a node, ranks dealt out to the nodes
// in turns, a GPU used twice.
void check_layout(const std::vector<RankSeat>& seats, int ranks_per_node, bool gpus_shared);

}  // namespace shardsim
