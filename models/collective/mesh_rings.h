#pragma once

#include <vector>

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

}  // namespace shardsim
