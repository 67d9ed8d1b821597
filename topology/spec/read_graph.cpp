#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "topology/spec/readers.h"

namespace shardsim {
namespace {

constexpr int kMostChannels = 1024;

void check_ring(const std::vector<int>& ring, int gpu_count, const Place& place) {
  std::vector<int> every(static_cast<std::size_t>(gpu_count));
  std::iota(every.begin(), every.end(), 0);
  if (std::is_permutation(ring.begin(), ring.end(), every.begin(), every.end())) return;
  throw input_error(place, "a ring does not visit every GPU once",
                    fmt::format("Write a permutation of 0 to {}", gpu_count - 1));
}

std::vector<std::vector<int>> read_rings(MapReader& reader, int gpu_count, int channels) {
  std::vector<std::vector<int>> rings;
  if (!reader.has("rings")) return rings;
  for (const Tree& item : reader.list("rings")) {
    rings.push_back(read_indices(item, gpu_count, "GPU"));
    check_ring(rings.back(), gpu_count, item.place);
  }
  if (static_cast<int>(rings.size()) > channels) {
    throw input_error(reader.place_of("rings"), fmt::format("{} rings for {} channels", rings.size(), channels),
                      "Write one ring per channel at most");
  }
  return rings;
}

GraphSpec read_channels(MapReader reader, int gpu_count, bool across_nodes) {
  GraphSpec graph;
  graph.channels = small_count(reader, "channels", kMostChannels);
  graph.bw_intra = reader.rate("bw_intra");
  graph.bw_inter = across_nodes ? reader.rate("bw_inter") : graph.bw_intra;
  if (reader.has("intra_path")) {
    graph.intra_path = reader.choice("intra_path", {"nvl", "nvb", "pix", "phb", "sys"});
  }
  graph.rings = read_rings(reader, gpu_count, graph.channels);
  reader.finish();
  return graph;
}

}  // namespace

void read_graph(MapReader reader, ClusterSpec& spec) {
  const bool cross_nic = reader.flag("cross_nic", false);
  const auto read_one = [&](std::string_view key, bool across_nodes) -> std::optional<GraphSpec> {
    if (!reader.has(key)) return std::nullopt;
    GraphSpec graph = read_channels(reader.map(key), spec.gpu.count, across_nodes);
    graph.cross_nic = cross_nic;
    return graph;
  };
  spec.graph_one_node = read_one("one_node", false);
  spec.graph_multi_node = read_one("multi_node", true);
  reader.finish();
}

}  // namespace shardsim
