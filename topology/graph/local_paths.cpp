#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "topology/graph/node_links.h"

namespace shardsim {
namespace {

// The balanced shares are a linear programme with a variable for every relay of every pair.
constexpr int kMostBalanced = 16;
constexpr double kLeastShare = 1e-9;

LocalWays relayed_ways(RelayRule rule, const NodeGraph& graph, int from, int to, NodePath widest) {
  if (rule == RelayRule::widest) return {{std::move(widest)}};
  const std::vector<int> all = relays(graph, from, to);
  const auto over = [&](int relay) {
    return LocalWay{
        relayed_path(graph, static_cast<Vertex>(from), static_cast<Vertex>(relay), static_cast<Vertex>(to))};
  };
  if (rule == RelayRule::lowest_index) return {over(all.front())};
  if (rule == RelayRule::highest_index) return {over(all.back())};
  LocalWays ways;
  for (const int relay : all) ways.push_back(over(relay));
  return ways;
}

PathClass reach_by_rule(const ClusterSpec& spec) {
  const std::string& cpu = spec.pcie.cpu_vendor;
  if (spec.nccl == "2.14") {
    if (cpu == "arm") return PathClass::pxb;
    if (cpu != "intel") return PathClass::sys;
    return spec.pcie.cpu_model.find("Broadwell") != std::string::npos ? PathClass::pxb : PathClass::phb;
  }
  return cpu == "amd" && spec.gpu.count <= 2 ? PathClass::sys : PathClass::pxb;
}

// Bytes for a GPU out of reach pass host memory on the same tree.
LocalWays pcie_ways(const ClusterSpec& spec, const NodeGraph& graph, int from, int to) {
  if (!spec.pcie.p2p && spec.nvlink.kind != NvlinkKind::none) {
    throw input_error(spec.places.of("nvlink"),
                      fmt::format("GPUs {} and {} are not connected: no NVLink, no relay, no PCIe peer-to-peer",
                                  std::min(from, to), std::max(from, to)),
                      "Link them, allow a relay, or set pcie.p2p: true");
  }
  auto path = pcie_path(graph, static_cast<Vertex>(from), static_cast<Vertex>(to));
  if (path && path->path > direct_reach(spec)) {
    path = host_path(graph, static_cast<Vertex>(from), static_cast<Vertex>(to));
    if (path) path->through_host = true;
  }
  if (path) return {{*path}};
  throw input_error(spec.places.of("pcie"), fmt::format("GPUs {} and {} are not connected", from, to),
                    "Name every GPU in the PCIe tree");
}

LocalWays ways_between(const ClusterSpec& spec, const NodeGraph& graph, int from, int to) {
  auto best = best_path(graph, static_cast<Vertex>(from), static_cast<Vertex>(to));
  if (best && best->path == PathClass::nvl) return {{*best}};
  if (best && best->path == PathClass::nvb && spec.nvlink.relay != RelayRule::none) {
    return relayed_ways(spec.nvlink.relay, graph, from, to, *best);
  }
  return pcie_ways(spec, graph, from, to);
}

using Paths = std::vector<std::vector<LocalWays>>;

// The capacities of the directed NVLinks of a mesh, relative to the fastest one, and the loads that the linked pairs
// put on them, in chunks of an all-to-all.
struct MeshLoads {
  std::vector<double> capacity, load;
  std::map<std::pair<Vertex, Vertex>, std::size_t> index;
};

MeshLoads loads_of_linked_pairs(const NodeGraph& graph) {
  MeshLoads mesh;
  for (const auto& edge : boost::make_iterator_range(boost::edges(graph))) {
    if (graph[edge].kind != EdgeKind::nvlink) continue;
    mesh.index[{boost::source(edge, graph), boost::target(edge, graph)}] = mesh.capacity.size();
    mesh.capacity.push_back(graph[edge].rate.bytes_per_second);
    mesh.load.push_back(1);
  }
  const double most = *std::max_element(mesh.capacity.begin(), mesh.capacity.end());
  for (double& capacity : mesh.capacity) capacity /= most;  // near 1, as the solver's tolerances want it
  return mesh;
}

SplitDemand demand_of(const LocalWays& ways, const MeshLoads& mesh) {
  SplitDemand demand;
  for (const LocalWay& way : ways) {
    const auto& v = way.path.vertices;
    demand.ways.push_back({mesh.index.at({v[0], v[1]}), mesh.index.at({v[1], v[2]})});
  }
  return demand;
}

void balance_relays(const ClusterSpec& spec, const NodeGraph& graph, Paths& paths) {
  if (spec.gpu.count > kMostBalanced) {
    throw input_error(spec.places.of("nvlink"), fmt::format("relay: balanced is for up to {} GPUs", kMostBalanced),
                      "Write relay: widest");
  }
  const MeshLoads mesh = loads_of_linked_pairs(graph);
  std::vector<LocalWays*> pairs;
  std::vector<SplitDemand> demands;
  for (auto& row : paths) {
    for (LocalWays& ways : row) {
      if (ways.empty() || ways.front().path.path != PathClass::nvb) continue;
      pairs.push_back(&ways);
      demands.push_back(demand_of(ways, mesh));
    }
  }
  const auto shares = balanced_shares(mesh.capacity, mesh.load, demands);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    for (std::size_t way = 0; way < shares[i].size(); ++way) (*pairs[i])[way].share = shares[i][way];
    std::erase_if(*pairs[i], [](const LocalWay& way) { return way.share < kLeastShare; });
  }
}

}  // namespace

PathClass direct_reach(const ClusterSpec& spec) {
  const std::string& level = spec.pcie.p2p_level;
  if (!spec.pcie.p2p) return PathClass::loc;
  if (level == "pix") return PathClass::pix;
  if (level == "pxb") return PathClass::pxb;
  if (level == "phb") return PathClass::phb;
  return level == "sys" ? PathClass::sys : reach_by_rule(spec);
}

std::vector<std::vector<LocalWays>> local_paths(const ClusterSpec& spec, const NodeGraph& graph) {
  const auto count = static_cast<std::size_t>(spec.gpu.count);
  std::vector<std::vector<LocalWays>> paths(count, std::vector<LocalWays>(count));
  for (int from = 0; from < spec.gpu.count; ++from) {
    for (int to = 0; to < spec.gpu.count; ++to) {
      if (from != to) paths[from][to] = ways_between(spec, graph, from, to);
    }
  }
  if (spec.nvlink.kind == NvlinkKind::mesh && spec.nvlink.relay == RelayRule::balanced) {
    balance_relays(spec, graph, paths);
  }
  return paths;
}

}  // namespace shardsim
