#pragma once

#include <cstdint>
#include <vector>

#include "models/collective/collective.h"

namespace shardsim {

// What one member of an all-to-all sends and receives, where nobody knows the bytes of every pair.
struct RankBytes {
  std::int64_t sent_in_node = 0, received_in_node = 0;    // to and from the other members on its node
  std::int64_t sent_off_node = 0, received_off_node = 0;  // to and from all other nodes
  std::vector<std::int64_t> sent_to_rail;  // of sent_off_node, by the destination's NIC; empty: spread evenly
};

// Exact: check_rank_bytes() (rank_bytes_check.h) keeps all sums below 2^53.
inline double in_double(std::int64_t bytes) {
  return static_cast<double>(bytes);
}

// An all_to_all by these sums: ports carry exactly what they say; what they leave open is as even as they allow: the
// pairs of a node (pairs_of_sums.h), the NICs of the other nodes, the leaves. `bytes`: one entry per member. Errors
// (Failure::input): as expand_collective() for ranks, as check_rank_bytes() (rank_bytes_check.h) for sums that no bytes
// can have.
CollectiveLoads expand_rank_bytes(const std::vector<int>& ranks, const std::vector<RankBytes>& bytes,
                                  const Cluster& cluster);

}  // namespace shardsim
