#include "validate/execute/meet/peer_order.h"

#include <algorithm>
#include <cstddef>

namespace shardsim {
namespace {

// [node][local index] -> position, nodes in the order in which the group first names them.
using Layout = std::vector<std::vector<int>>;

Layout layout_of(const std::vector<int>& ranks, int ranks_per_node) {
  std::vector<int> nodes;
  Layout layout;
  for (std::size_t position = 0; position < ranks.size(); ++position) {
    const int node = ranks[position] / ranks_per_node;
    const auto found = std::ranges::find(nodes, node);
    const std::size_t index = static_cast<std::size_t>(found - nodes.begin());
    if (found == nodes.end()) {
      nodes.push_back(node);
      layout.emplace_back();
    }
    layout[index].push_back(static_cast<int>(position));
  }
  return layout;
}

bool even(const Layout& layout) {
  return std::ranges::all_of(layout, [&](const auto& node) { return node.size() == layout.front().size(); });
}

std::vector<PeerStep> rotation(int members, int position) {
  std::vector<PeerStep> steps;
  for (int s = 1; s < members; ++s) steps.push_back({(position + s) % members, (position - s + members) % members});
  return steps;
}

std::vector<PeerStep> by_tiers(const Layout& layout, int node, int local) {
  const int nodes = static_cast<int>(layout.size()), locals = static_cast<int>(layout.front().size());
  std::vector<PeerStep> steps;
  for (int dn = 0; dn < nodes; ++dn)
    for (int dg = dn == 0 ? 1 : 0; dg < locals; ++dg)
      steps.push_back({layout[(node + dn) % nodes][(local + dg) % locals],
                       layout[(node - dn + nodes) % nodes][(local - dg + locals) % locals]});
  return steps;
}

}  // namespace

std::vector<PeerStep> peer_order(const std::vector<int>& ranks, int position, int ranks_per_node) {
  const Layout layout = layout_of(ranks, ranks_per_node);
  for (std::size_t node = 0; node < layout.size() && even(layout); ++node)
    for (std::size_t local = 0; local < layout[node].size(); ++local)
      if (layout[node][local] == position) return by_tiers(layout, static_cast<int>(node), static_cast<int>(local));
  return rotation(static_cast<int>(ranks.size()), position);
}

}  // namespace shardsim
