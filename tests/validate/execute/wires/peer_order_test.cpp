#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "validate/execute/wires/cpu_collectives.h"

namespace shardsim::peer_order_test {

namespace {

std::vector<int> first(int count) {
  std::vector<int> ranks;
  for (int rank = 0; rank < count; ++rank) ranks.push_back(rank);
  return ranks;
}

// For each position of the group, the order in which it sends to the other ones.
std::vector<std::vector<PeerStep>> all_orders(const std::vector<int>& ranks, int ranks_per_node) {
  std::vector<std::vector<PeerStep>> orders;
  for (int position = 0; position < static_cast<int>(ranks.size()); ++position)
    orders.push_back(peer_order(ranks, position, ranks_per_node));
  return orders;
}

// Every step: each is met once, and by the one that says so; all steps: everybody is met.
void check_steps(const std::vector<int>& ranks, int ranks_per_node, bool one_tier) {
  const auto orders = all_orders(ranks, ranks_per_node);
  const std::size_t members = ranks.size();
  for (std::size_t p = 0; p < members; ++p) {
    std::set<int> met;
    REQUIRE(orders[p].size() == members - 1);
    for (std::size_t step = 0; step < members - 1; ++step) {
      const int peer = orders[p][step].send_to;
      CHECK(peer != static_cast<int>(p));
      CHECK(orders[peer][step].receive_from == static_cast<int>(p));
      met.insert(peer);
      const bool inside = ranks[peer] / ranks_per_node == ranks[p] / ranks_per_node;
      const bool inside_for_0 = ranks[orders[0][step].send_to] / ranks_per_node == ranks[0] / ranks_per_node;
      if (one_tier) CHECK(inside == inside_for_0);
    }
    CHECK(met.size() == members - 1);
  }
}

}  // namespace

// Counted out by hand from the rule, 2 nodes of 4: rank 5 is local 1 of node 1.
TEST_CASE("peers of one rank, in order") {
  const std::vector<PeerStep> expected = {{6, 4}, {7, 7}, {4, 6}, {1, 1}, {2, 0}, {3, 3}, {0, 2}};
  CHECK(peer_order(first(8), 5, 4) == expected);
}

TEST_CASE("every step is a permutation inside one tier, and all peers are met") {
  for (const int ranks_per_node : {1, 2, 4, 8}) check_steps(first(8), ranks_per_node, true);
  check_steps({1, 5, 9, 13}, 4, true);           // a rail
  check_steps({0, 1, 4, 5, 8, 9}, 4, true);      // parts of three nodes
  check_steps({0, 4, 1, 5}, 4, true);            // nodes dealt out
  check_steps({0, 1, 2, 4, 5, 7, 8}, 4, false);  // unequal parts: permutations still
  CHECK(peer_order({3}, 0, 4).empty());
}

}  // namespace shardsim::peer_order_test
