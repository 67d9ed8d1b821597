#pragma once

#include <memory>
#include <string>
#include <vector>

#include "validate/execute/meet/frame_link.h"
#include "validate/execute/meet/launch.h"

namespace shardsim {

// How the ranks of a run find each other.
struct Joined {
  std::vector<std::unique_ptr<FrameLink>> links;  // by rank: of rank 0 to all others, of a rank to rank 0; else null
  std::string address;                            // IPv4, by which the other ranks reach this one
};

// Errors as Rendezvous::join.
Joined join_ranks(const Launch& launch, double limit_s);

// The two sides of it.
Joined join_as_root(const Launch& launch, double limit_s);
Joined join_as_member(const Launch& launch, double limit_s);

}  // namespace shardsim
