#include "topology/spec/cluster_spec.h"

#include <fmt/format.h>

#include "topology/graph/graph.h"
#include "topology/spec/check.h"
#include "topology/spec/readers.h"

namespace shardsim {
namespace {

constexpr std::string_view kClusterSchema = "shardsim.cluster/1";
constexpr int kMostNodes = 100'000;

SpecPlaces places_of(const Tree& tree) {
  SpecPlaces places;
  places.by_path[""] = tree.place;
  for (const auto& [key, value] : tree.fields) {
    places.by_path[key] = value.place;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      places.by_path[fmt::format("{}.{}", key, i)] = value.items[i].place;
    }
  }
  return places;
}

void read_head(MapReader& reader, ClusterSpec& spec) {
  const std::string schema = reader.text("schema");
  if (schema != kClusterSchema) {
    throw input_error(reader.place_of("schema"), fmt::format("'{}' is not the schema of a cluster file", schema),
                      fmt::format("Write schema: {}", kClusterSchema));
  }
  reader.has("base");  // merged by whoever found the file
  spec.name = reader.name("name");
  spec.summary = reader.text("summary", "");
  spec.open = reader.texts("open");
  spec.nodes = small_count(reader, "nodes", kMostNodes, spec.nodes);
  spec.device = reader.choice("device", {"cuda", "cpu"}, spec.device);
  spec.nccl = reader.choice("nccl", {"2.14", "2.30"}, spec.nccl);
  spec.fits = reader.choice("fits", {"none", "open_data"}, spec.fits);
}

HostSpec host_with_link(HostSpec host, const PcieSpec& pcie) {
  if (!host.gpu_link_bandwidth) host.gpu_link_bandwidth = pcie_rate(pcie);
  return host;
}

P2pSpec read_p2p(MapReader reader) {
  P2pSpec p2p;
  p2p.channel_rate = reader.rate("channel_rate", p2p.channel_rate);
  if (reader.has("channels_per_peer")) p2p.channels_per_peer = small_count(reader, "channels_per_peer", 1024);
  if (reader.has("pxn")) p2p.pxn = reader.flag("pxn", true);
  reader.finish();
  return p2p;
}

// GraphSpec knows five classes; several PCIe switches in a row count like a host bridge, as NCCL's PCI constants do.
std::string intra_path_name(PathClass path) {
  switch (path) {
    case PathClass::loc:
    case PathClass::nvl:
      return "nvl";
    case PathClass::nvb:
      return "nvb";
    case PathClass::pix:
      return "pix";
    case PathClass::pxb:
    case PathClass::phb:
      return "phb";
    default:
      return "sys";
  }
}

// The farthest class between neighbours of the rings.
PathClass farthest_hop(const NodeGraph& graph, const std::vector<std::vector<int>>& rings, int gpu_count) {
  PathClass farthest = PathClass::loc;
  const auto visit = [&](int a, int b) {
    const auto path = best_path(graph, static_cast<Vertex>(a), static_cast<Vertex>(b));
    if (path) farthest = std::max(farthest, path->path);
  };
  for (int i = 0; rings.empty() && i < gpu_count; ++i) visit(i, (i + 1) % gpu_count);
  for (const auto& ring : rings) {
    for (std::size_t i = 0; i < ring.size(); ++i) visit(ring[i], ring[(i + 1) % ring.size()]);
  }
  return farthest;
}

void find_intra_path(ClusterSpec& spec, std::optional<GraphSpec>& channels) {
  if (!channels || !channels->intra_path.empty()) return;
  channels->intra_path = intra_path_name(farthest_hop(build_node_graph(spec), channels->rings, spec.gpu.count));
}

}  // namespace

HostSpec read_host(MapReader reader) {
  HostSpec host;
  if (reader.has("memory")) host.memory = reader.bytes("memory");
  host.memory_bandwidth = reader.rate("memory_bandwidth", host.memory_bandwidth);
  if (reader.has("gpu_link_bandwidth")) host.gpu_link_bandwidth = reader.rate("gpu_link_bandwidth");
  reader.finish();
  return host;
}

Place SpecPlaces::of(const std::string& path) const {
  for (std::string at = path;; at.resize(at.rfind('.') == std::string::npos ? 0 : at.rfind('.'))) {
    if (const auto found = by_path.find(at); found != by_path.end()) return found->second;
    if (at.empty()) return {"cluster", 0, 0};
  }
}

ClusterSpec read_cluster(const Tree& tree) {
  ClusterSpec spec;
  spec.places = places_of(tree);
  MapReader reader(tree, "", &spec.sources);
  read_head(reader, spec);
  reader.required("gpu");
  spec.gpu = read_gpu(reader.map("gpu"), spec.device, &spec.sources);
  if (reader.has("nics")) spec.nics = read_nics(reader.map("nics"), spec.gpu.count);
  spec.nvlink = read_nvlink(reader.map("nvlink"), spec.gpu, spec.nccl);
  spec.pcie = read_pcie(reader.map("pcie"), spec.gpu.count, spec.nics, &spec.sources);
  spec.host = host_with_link(read_host(reader.map("host")), spec.pcie);
  spec.fabric = read_fabric(reader.map("fabric"));
  read_graph(reader.map("graph"), spec);
  spec.p2p = read_p2p(reader.map("p2p"));
  read_overheads(reader.map("overheads"), spec);
  if (reader.has("faults")) spec.faults = read_faults(reader.list("faults"), &spec.sources);
  reader.finish();
  check_spec(spec);
  find_intra_path(spec, spec.graph_one_node);
  find_intra_path(spec, spec.graph_multi_node);
  return spec;
}

}  // namespace shardsim
