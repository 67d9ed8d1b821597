#pragma once

#include <vector>

namespace shardsim {

// One step of a direct all-to-all: positions in the group.
struct PeerStep {
  int send_to = 0;
  int receive_from = 0;
  bool operator==(const PeerStep&) const = default;
};

// The other positions in the order in which `position` turns to them. With M nodes of G members each: for dn = 0..M-1,
// for dg = 0..G-1 but (0, 0): send to (node + dn, local + dg), receive from (node - dn, local - dg), modulo M and G.
// Every step is a permutation that stays in one tier, so that no rank is met by several at once. Where nodes hold
// unequal numbers of members: to position + s, from position - s.
std::vector<PeerStep> peer_order(const std::vector<int>& ranks, int position, int ranks_per_node);

}  // namespace shardsim
