#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "models/collective/collective.h"

namespace shardsim {

// The bytes that one member of an all-to-all sends and receives in sum, where the bytes of every pair are not known.
struct RankBytes {
  std::int64_t sent_in_node = 0, received_in_node = 0;    // to and from the other members on its node
  std::int64_t sent_off_node = 0, received_off_node = 0;  // to and from all other nodes
  std::vector<std::int64_t> sent_to_rail;  // of sent_off_node, by the destination's NIC; empty: spread evenly
};

// Exact: check_rank_bytes() keeps all sums below 2^53.
inline double in_double(std::int64_t bytes) {
  return static_cast<double>(bytes);
}

// The all_to_all of these sums; the own chunk of a member is not known and left out.
CallShape call_shape(const std::vector<int>& ranks, const std::vector<RankBytes>& bytes, const Cluster& cluster);

// An all_to_all with these sums. Ports carry exactly these bytes. Where the sums leave the distribution open, it is as
// even as they allow: the bytes of the pairs in a node (pairs_of_sums), of the NICs of the other nodes, and of the
// leaves. `bytes`: one entry per member. Errors (Failure::input): as expand_collective() for ranks, as
// check_rank_bytes() for sums that no bytes can have.
CollectiveLoads expand_rank_bytes(const std::vector<int>& ranks, const std::vector<RankBytes>& bytes,
                                  const Cluster& cluster);

// The bytes of every pair of members, n x n by rows, where only the sums are known: member i sends `sent[i]` and
// receives `received[i]`, none to itself. The fill nearest to an even one (iterative proportional fitting from equal
// pairs): its sums are those given, and equal sums give equal pairs. The caller sees to it that such bytes exist: both
// add up to the same, and no member sends more than the others receive. n x n steps a round, n^3 where zeros that the
// sums force (one member that all others send to, say) leave a rest after the last round.
std::vector<double> pairs_of_sums(const std::vector<double>& sent, const std::vector<double>& received);

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
