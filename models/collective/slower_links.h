#pragma once

#include <string>
#include <vector>

#include "models/collective/collective.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// The same cluster with one kind of links slower. NCCL looks for channels speed by speed and chooses an algorithm by
// its own estimate: faster links can leave a collective fewer channels, or a choice that turns out slower. Whoever
// reads its time has to know, because it looks like a fault.
class SlowerLinks {
 public:
  explicit SlowerLinks(const Cluster& cluster);

  // A sentence about a call that takes less time alone on one of those clusters, with what NCCL finds here and there;
  // "" where it does not. `name`: of the call, for the sentence. The algorithm as for expand_collective().
  std::string better_for(const CollectiveCall& call, const std::string& name, std::string_view algorithm) const;

 private:
  struct Slower {
    std::string links;  // "NICs of 6.25 GB/s instead of 12.5 GB/s"
    Cluster cluster;
  };
  const Cluster& cluster_;
  std::vector<Slower> slower_;
};

}  // namespace shardsim
