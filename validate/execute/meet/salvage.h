#pragma once

#include <string>
#include <vector>

#include "validate/execute/meet/tcp.h"

namespace shardsim {

// What the ranks do that rank 0 has left behind: the lowest one that still listens takes the others' texts.
// doors: by rank, where each listens for that.
struct Orphan {
  int rank = 0;
  const std::vector<Address>& doors;
  const Descriptor& listener;  // this rank's own
};

// By rank at the lowest one that is still there, {} at the others, within about `limit_s` seconds.
std::vector<std::string> salvage_among_orphans(const Orphan& orphan, const std::string& text, double limit_s);

}  // namespace shardsim
