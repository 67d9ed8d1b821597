#pragma once

#include <vector>

#include "base/error.h"
#include "models/collective/rank_bytes.h"

namespace shardsim {

// Where sums were written, for messages.
struct RankBytesPlaces {
  Place whole{"bytes of each rank"};
  std::vector<Place> each;  // of each member; empty: not known
};

// Refuses sums that no bytes between the ranks have. `bytes`: one entry per member. Errors (Failure::input, at the
// member's place or the whole's): rails that are not the node's NICs or do not add up; sums sent and received that
// differ in a node, between the nodes or on a rail; a member, or a node, or a node's rail, that receives more than the
// others send to it; sums above 2^53.
void check_rank_bytes(const std::vector<int>& ranks, const std::vector<RankBytes>& bytes, const Cluster& cluster,
                      const RankBytesPlaces& places = {});

}  // namespace shardsim
