#pragma once

#include <string>
#include <vector>

#include "base/tree/tree.h"

namespace shardsim {

// A cluster file whose number of GPUs a later layer states (--set cluster.gpu.count=4, or a file with it as `base`).
struct CutCluster {
  Tree tree;
  std::vector<std::string> gone;  // what is left out, as a note names it: "8 NVLinks between GPUs"
};

// The cluster with what a node of so many GPUs has: what an earlier layer says of other GPUs, of their NICs, of
// switches that lead to none, and of the channels that NCCL found between all of them, goes. Everything else stays, and
// so does a file that states its number itself: what it says of GPUs that it does not have is a mistake.
CutCluster cut_to_gpus(Tree cluster);

}  // namespace shardsim
