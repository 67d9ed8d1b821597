#include "models/collective/channel_layout.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace shardsim {
namespace {

constexpr int kMostChannels = 64;  // MAXCHANNELS, NVIDIA/nccl src/include/device.h

// The stated order of a whole node, reduced to the group's GPUs there.
std::vector<int> only(const std::vector<int>& order, const std::vector<int>& gpus) {
  std::vector<int> kept;
  for (int gpu : order)
    if (std::find(gpus.begin(), gpus.end(), gpu) != gpus.end()) kept.push_back(gpu);
  return kept;
}

std::vector<int> gpus_of(const NodeMembers& members, const Cluster& cluster) {
  std::vector<int> gpus;
  gpus.reserve(members.ranks.size());
  for (int rank : members.ranks) gpus.push_back(cluster.gpu_of(rank));
  return gpus;
}

// Candidate orders of local GPUs with their widths.
std::vector<MeshRing> orders_of(const std::vector<int>& gpus, const std::optional<GraphSpec>& graph,
                                const Cluster& cluster) {
  std::vector<MeshRing> orders;
  if (graph)
    for (const auto& ring : graph->rings) orders.push_back({only(ring, gpus), 1});
  if (orders.empty() && cluster.spec().nvlink.kind == NvlinkKind::mesh)
    orders = mesh_rings(gpus, cluster.spec().nvlink);
  if (orders.empty()) orders.push_back({gpus, 1});
  return orders;
}

// Deals `channels` over the orders in proportion to their widths: index of the order of each channel. Stated orders are
// all one wide and so come in turn.
std::vector<std::size_t> deal(int channels, const std::vector<MeshRing>& orders) {
  std::vector<int> taken(orders.size(), 0);
  std::vector<std::size_t> dealt;
  for (int c = 0; c < channels; ++c) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < orders.size(); ++i)
      if ((taken[i] + 1) * orders[best].links < (taken[best] + 1) * orders[i].links) best = i;
    ++taken[best];
    dealt.push_back(best);
  }
  return dealt;
}

// GPUs of the node that own its NICs: [NIC in use][GPUs that have it].
std::vector<std::vector<int>> nic_owners(const std::vector<int>& gpus, const Cluster& cluster) {
  std::map<int, std::vector<int>> owners;
  for (int gpu : gpus) owners[cluster.nic_of(gpu)].push_back(gpu);
  std::vector<std::vector<int>> list;
  for (auto& [nic, members] : owners) list.push_back(std::move(members));
  return list;
}

int channel_count(const std::vector<NodeMembers>& nodes, const Cluster& cluster) {
  const auto& graph = cluster.spec().graph_multi_node;
  if (graph && graph->channels > 0) return std::min(graph->channels, kMostChannels);
  std::size_t most = 1;
  std::vector<int> counted;  // GPUs of the node before, which most nodes have, too
  for (const NodeMembers& members : nodes) {
    std::vector<int> gpus = gpus_of(members, cluster);
    if (gpus == counted) continue;
    most = std::max(most, nic_owners(gpus, cluster).size());
    counted = std::move(gpus);
  }
  return static_cast<int>(most);
}

std::vector<MeshRing> orders_from_nics(const std::vector<int>& gpus, int channels, const Cluster& cluster) {
  const auto orders = orders_of(gpus, cluster.spec().graph_multi_node, cluster);
  const auto dealt = deal(channels, orders);
  const auto owners = nic_owners(gpus, cluster);
  std::vector<MeshRing> result;
  for (int c = 0; c < channels; ++c) {
    const auto& of_nic = owners[c % owners.size()];
    const int entry = of_nic[(c / owners.size()) % of_nic.size()];
    std::vector<int> order = orders[dealt[c]].gpus;
    std::rotate(order.begin(), std::find(order.begin(), order.end(), entry), order.end());
    result.push_back({std::move(order), 1});
  }
  return result;
}

std::vector<NodeChannel> on_node(const std::vector<MeshRing>& orders, int node, const Cluster& cluster) {
  double width = 0;
  for (const MeshRing& order : orders) width += order.links;
  std::vector<NodeChannel> channels;
  channels.reserve(orders.size());
  for (const MeshRing& order : orders) {
    NodeChannel channel{order.gpus, order.links / width};
    for (int& rank : channel.ranks) rank += node * cluster.ranks_per_node();
    channels.push_back(std::move(channel));
  }
  return channels;
}

// Nodes with the same members have the same orders, which are found once.
template <typename FindOrders>
std::vector<std::vector<NodeChannel>> laid_on(const std::vector<NodeMembers>& nodes, const Cluster& cluster,
                                              const FindOrders& find_orders) {
  std::map<std::vector<int>, std::vector<MeshRing>> known;
  std::vector<std::vector<NodeChannel>> result;
  result.reserve(nodes.size());
  for (const NodeMembers& members : nodes) {
    const auto gpus = gpus_of(members, cluster);
    const auto [entry, fresh] = known.try_emplace(gpus);
    if (fresh) entry->second = find_orders(gpus);
    result.push_back(on_node(entry->second, members.node, cluster));
  }
  return result;
}

}  // namespace

std::vector<NodeMembers> members_by_node(const std::vector<int>& ranks, const Cluster& cluster) {
  std::vector<int> positions(ranks.size());
  std::iota(positions.begin(), positions.end(), 0);
  if (!std::is_sorted(ranks.begin(), ranks.end()))  // as nearly all groups are: to sort a large one takes long
    std::sort(positions.begin(), positions.end(), [&](int a, int b) { return ranks[a] < ranks[b]; });
  std::vector<NodeMembers> nodes;
  for (int position : positions) {
    const int node = cluster.node_of(ranks[position]);
    if (nodes.empty() || nodes.back().node != node) {
      NodeMembers& fresh = nodes.emplace_back(NodeMembers{node, {}, {}});
      fresh.ranks.reserve(static_cast<std::size_t>(cluster.ranks_per_node()));
      fresh.positions.reserve(static_cast<std::size_t>(cluster.ranks_per_node()));
    }
    nodes.back().ranks.push_back(ranks[position]);
    nodes.back().positions.push_back(position);
  }
  return nodes;
}

std::vector<std::vector<NodeChannel>> rings_in_nodes(const std::vector<NodeMembers>& nodes, const Cluster& cluster) {
  return laid_on(nodes, cluster,
                 [&](const std::vector<int>& gpus) { return orders_of(gpus, cluster.spec().graph_one_node, cluster); });
}

std::vector<std::vector<NodeChannel>> channels_across(const std::vector<NodeMembers>& nodes, int channels,
                                                      const Cluster& cluster) {
  if (channels == 0) channels = channel_count(nodes, cluster);
  return laid_on(nodes, cluster,
                 [&](const std::vector<int>& gpus) { return orders_from_nics(gpus, channels, cluster); });
}

}  // namespace shardsim
