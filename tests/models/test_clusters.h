#pragma once

#include <fmt/format.h>

#include <string>

#include "base/tree/yaml.h"
#include "models/collective/collective.h"
#include "topology/graph/cluster.h"

// Small clusters for tests of collectives, all through the reader of cluster files.
namespace shardsim::test {

inline Cluster cluster_from(const std::string& yaml) {
  return Cluster(read_cluster(parse_yaml(yaml, "test")));
}

inline std::string gpu_line(int count, const std::string& capability = "8.0") {
  return fmt::format(
      "gpu: {{model: toy, count: {}, compute_capability: \"{}\", hbm: \"16 GiB\", hbm_bandwidth: \"1000 GB/s\", "
      "l2: \"0 B\", flops: {{fp32: \"10 TFLOP/s\"}}}}\n",
      count, capability);
}

inline std::string header(int nodes) {
  return fmt::format("schema: shardsim.cluster/1\nname: test\nsummary: for tests\nnodes: {}\n", nodes);
}

// No start costs, no efficiencies below 1: what is left are bytes, rates and latencies.
inline const char* no_overheads() {
  return "overheads:\n"
         "  launch_overhead: \"0 s\"\n"
         "  all_to_all: {in_node: {start: \"0 s\", per_remote_peer: \"0 s\"}, across_nodes: {start: \"0 s\", "
         "per_remote_peer: \"0 s\", nic_efficiency: 1}}\n"
         "  all_reduce: {across_nodes: {nic_efficiency: 1}}\n"
         "  all_gather: {across_nodes: {nic_efficiency: 1}}\n"
         "  reduce_scatter: {across_nodes: {nic_efficiency: 1}}\n";
}

// The common two-tier platform: 8 GPUs per node, 450 GB/s and 1 us inside, one NIC of 25 GB/s and 2.5 us per GPU, one
// non-blocking switch. `extra` lines follow.
inline std::string two_tier(int nodes, const std::string& extra = "") {
  return header(nodes) + gpu_line(8) +
         "nvlink: {kind: switch, links_per_gpu: 1, per_link: \"450 GB/s\", per_link_effective: \"450 GB/s\", "
         "latency: \"1 us\"}\n"
         "nics: {per_gpu: 1, rate: \"200 Gbit/s\", latency: \"2.5 us\"}\n"
         "p2p: {channel_rate: \"1000 GB/s\", pxn: false}\n" +
         no_overheads() + extra;
}

// 2 nodes of 4 GPUs, 100 GB/s inside a node, 10 GB/s between nodes.
inline std::string toy_2x4(const std::string& extra = "") {
  return header(2) + gpu_line(4) +
         "nvlink: {kind: switch, links_per_gpu: 1, per_link: \"100 GB/s\", per_link_effective: \"100 GB/s\", "
         "latency: \"1 us\"}\n"
         "nics: {per_gpu: 1, rate: \"80 Gbit/s\", latency: \"2 us\"}\n"
         "p2p: {channel_rate: \"100 GB/s\", pxn: false}\n" +
         no_overheads() + extra;
}

// One GPU and one 200 Gbit/s NIC per node.
inline std::string one_gpu_nodes(int nodes) {
  return header(nodes) + gpu_line(1) + "nics: {per_gpu: 1, rate: \"200 Gbit/s\", latency: \"2.5 us\"}\n" +
         "p2p: {channel_rate: \"1000 GB/s\", pxn: false}\n" + no_overheads();
}

// The hybrid cube mesh of the FlexShard study: the DGX-1V wiring, every link doubled.
inline const char* cube_mesh_links() {
  return "[[0, 1, 2], [0, 2, 2], [0, 3, 4], [0, 4, 4], [1, 2, 4], [1, 3, 2], [1, 5, 4], [2, 3, 4], [2, 6, 2], "
         "[3, 7, 2], [4, 5, 2], [4, 6, 2], [4, 7, 4], [5, 6, 4], [5, 7, 2], [6, 7, 4]]";
}

inline std::string cube_mesh(int nodes, const std::string& relay = "widest", double nvb_efficiency = 0.75) {
  return header(nodes) + gpu_line(8) +
         fmt::format(
             "nvlink: {{kind: mesh, links_per_gpu: 12, per_link: \"25 GB/s\", per_link_effective: \"20 GB/s\", "
             "latency: \"1 us\", relay: {}, nvb_efficiency: {}, links: {}}}\n",
             relay, nvb_efficiency, cube_mesh_links()) +
         "nics: {per_gpu: 1, rate: \"200 Gbit/s\", latency: \"2.5 us\"}\np2p: {channel_rate: \"1000 GB/s\", "
         "pxn: false}\n" +
         no_overheads();
}

inline std::vector<int> ranks_from(int first, int count, int stride = 1) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(first + i * stride);
  return ranks;
}

inline ByteMatrix even_matrix(std::int64_t bytes_per_rank) {
  return {ByteMatrix::Kind::even, 1, {bytes_per_rank}, {}, false};
}

inline CollectiveLoads all_to_all(const Cluster& cluster, std::vector<int> ranks, const ByteMatrix& matrix) {
  return expand_collective({CollectiveKind::all_to_all, std::move(ranks), &matrix, 0}, cluster, "direct");
}

inline CollectiveLoads reduction(const Cluster& cluster, std::vector<int> ranks, std::int64_t bytes,
                                 const std::string& algorithm = "ring",
                                 CollectiveKind kind = CollectiveKind::all_reduce) {
  return expand_collective({kind, std::move(ranks), nullptr, bytes}, cluster, algorithm);
}

// Sum of the bytes over all links of one kind.
inline double bytes_over(const CollectiveLoads& loads, LinkKind kind, const Cluster& cluster) {
  double sum = 0;
  for (const LinkLoad& load : loads.loads)
    if (cluster.links()[load.link].kind == kind) sum += load.bytes;
  return sum;
}

inline double bytes_on(const CollectiveLoads& loads, LinkId link) {
  for (const LinkLoad& load : loads.loads)
    if (load.link == link) return load.bytes;
  return 0;
}

}  // namespace shardsim::test
