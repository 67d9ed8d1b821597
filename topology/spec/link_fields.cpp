#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "topology/spec/spec_fields.h"

namespace shardsim {
namespace {

constexpr int kMostChannels = 1024;
constexpr std::array<std::string_view, 3> kNvlinkKinds = {"none", "switch", "mesh"};  // by NvlinkKind
constexpr std::array<std::string_view, 5> kRelayRules = {"widest", "lowest_index", "highest_index", "balanced", "none"};

// One NVLink, one direction, as NCCL counts it (NVIDIA/nccl src/graph/topo.h; 22 GB/s up to 2.17 for sm70 and sm80).
std::optional<double> nccl_link_rate(int capability, const std::string& nccl) {
  if (capability >= 100) return 40.1e9;
  if (capability >= 90) return 20.6e9;
  if (capability == 86) return 12e9;
  if (capability >= 70) return nccl == "2.14" ? 22e9 : 20e9;
  if (capability >= 60) return 18e9;
  return std::nullopt;
}

// Data sheets: 20 GB/s for NVLink 1, 25 for 2 to 4, 50 for 5.
double data_sheet_rate(int capability) {
  return capability >= 100 ? 50e9 : capability < 70 ? 20e9 : 25e9;
}

// Where a file states the rate of the data sheet alone, NCCL's figure is taken in the same proportion.
void nvlink_rates(SpecFields& fields, NvlinkSpec& nvlink, const GpuSpec& gpu, const std::string& nccl) {
  const int capability = capability_number(gpu.compute_capability);
  const double sheet = data_sheet_rate(capability);
  if (fields.reading()) nvlink.per_link = {sheet};
  fields.take("per_link", nvlink.per_link);
  const auto counted = nccl_link_rate(capability, nccl);
  if (fields.reading() && counted) nvlink.per_link_effective = {*counted * (nvlink.per_link.bytes_per_second / sheet)};
  const bool is_due = fields.reading() && !counted && nvlink.kind != NvlinkKind::none;
  is_due ? fields.need("per_link_effective", nvlink.per_link_effective)
         : fields.take("per_link_effective", nvlink.per_link_effective);
}

NvlinkSpec::Pair read_pair(const Tree& entry, int gpu_count) {
  note_form(entry, {Form::Kind::list, {}, Bounds::from(3).to(3)});
  if (entry.kind != Tree::Kind::list || entry.items.size() != 3) {
    throw input_error(entry.place, "a link of the mesh is three numbers", "Write [GPU, GPU, NVLINKS], e.g. [0, 1, 2]");
  }
  const int a = read_index(entry.items[0], gpu_count, "GPU");
  const int b = read_index(entry.items[1], gpu_count, "GPU");
  if (a >= b) {
    throw input_error(entry.place, fmt::format("link [{}, {}] does not lead from a lower to a higher GPU", a, b),
                      "Write each pair once, the lower index first");
  }
  const LeafReader<std::int64_t> links =
      count_leaf(Bounds::from(1).to(kMostLinksPerGpu), "a pair without NVLinks is left out");
  return {a, b, static_cast<int>(links(entry.items[2]))};
}

void check_link_count(const std::vector<NvlinkSpec::Pair>& pairs, int gpu, int limit, const Place& place) {
  int used = 0;
  for (const auto& pair : pairs) used += pair.a == gpu || pair.b == gpu ? pair.links : 0;
  if (used <= limit) return;
  throw input_error(place, fmt::format("GPU {} has {} NVLinks in the mesh but links_per_gpu is {}", gpu, used, limit),
                    "Correct the link counts or links_per_gpu");
}

std::vector<NvlinkSpec::Pair> read_mesh(MapReader& reader, int gpu_count, int links_per_gpu) {
  std::vector<NvlinkSpec::Pair> pairs;
  std::set<std::pair<int, int>> seen;
  for (const Tree& entry : reader.list("links")) {
    pairs.push_back(read_pair(entry, gpu_count));
    const auto& [a, b, links] = pairs.back();
    if (!seen.insert({a, b}).second) {
      throw input_error(entry.place, fmt::format("GPUs {} and {} are linked twice", a, b),
                        "Write each pair once, with all its NVLinks");
    }
    check_link_count(pairs, a, links_per_gpu, entry.place);
    check_link_count(pairs, b, links_per_gpu, entry.place);
  }
  if (pairs.empty()) {
    throw input_error(reader.place_of("links"), "a mesh without links", "List them, or write kind: none");
  }
  return pairs;
}

void refuse_links(MapReader& reader) {
  const Tree* links = reader.value("links");
  if (links == nullptr || (links->kind == Tree::Kind::list && links->items.empty())) return;
  throw input_error(links->place, "links can only be stated with kind: mesh",
                    "Remove them, or write links: [] to remove those of the base");
}

// Keys about relayed pairs are for a mesh. Those of a base whose mesh a later layer replaces go with it; defaults and
// `relay: none` are true of any node.
void refuse_relays(MapReader& reader) {
  const Tree* const kind = reader.tree().find("kind");
  for (const char* const key : {"relay", "nvb_efficiency", "nvb_holds_for"}) {
    if (!reader.has(key)) continue;
    const Tree& stated = *reader.tree().find(key);
    if (kind != nullptr && top_layer(stated) < kind->layer) continue;
    if (stated.scalar == "widest" || stated.scalar == "none" || stated.scalar == shortest(NvlinkSpec{}.nvb_efficiency))
      continue;
    throw input_error(stated.place, fmt::format("nvlink.{} has a meaning only with kind: mesh", key),
                      "Remove it, or write kind: mesh");
  }
}

void write_mesh(SpecWriter& writer, const NvlinkSpec& nvlink) {
  std::vector<std::string> links;
  for (const NvlinkSpec::Pair& pair : nvlink.pairs) links.push_back(indices_text({pair.a, pair.b, pair.links}));
  if (!links.empty()) writer.put_list("links", links);
}

void check_layout(MapReader& reader, const NicSpec& nics, int gpu_count) {
  const int ways = reader.has("per_gpu") + reader.has("shared_by") + reader.has("per_node");
  if (ways != 1) {
    throw input_error(reader.tree().place, fmt::format("{} of per_gpu, shared_by and per_node are given", ways),
                      "Write exactly one of them");
  }
  if (nics.shared_by > 0 && gpu_count % nics.shared_by != 0) {
    throw input_error(
        reader.place_of("shared_by"),
        fmt::format("{0} GPUs cannot be divided into groups of {1} that share a NIC", gpu_count, nics.shared_by),
        "Write a divisor of gpu.count");
  }
}

std::vector<std::vector<int>> read_rings(MapReader& reader, int gpu_count, int channels) {
  std::vector<std::vector<int>> rings;
  if (!reader.has("rings")) return rings;
  std::vector<int> every(static_cast<std::size_t>(gpu_count));
  std::iota(every.begin(), every.end(), 0);
  for (const Tree& item : reader.list("rings")) {
    rings.push_back(read_indices(item, gpu_count, "GPU"));
    if (std::is_permutation(rings.back().begin(), rings.back().end(), every.begin(), every.end())) continue;
    throw input_error(item.place, "a ring does not visit every GPU once",
                      fmt::format("Write a permutation of 0 to {}", gpu_count - 1));
  }
  if (static_cast<int>(rings.size()) > channels) {
    throw input_error(reader.place_of("rings"), fmt::format("{} rings for {} channels", rings.size(), channels),
                      "Write one ring per channel at most");
  }
  return rings;
}

void channel_fields(SpecFields& fields, GraphSpec& graph, int gpu_count, bool across_nodes) {
  fields.need("channels", graph.channels, kMostChannels);
  fields.need("bw_intra", graph.bw_intra);
  if (across_nodes) fields.need("bw_inter", graph.bw_inter);
  if (!across_nodes) graph.bw_inter = graph.bw_intra;
  fields.choose("intra_path", graph.intra_path, {"nvl", "nvb", "pix", "phb", "sys"});
  if (fields.reading()) {
    graph.rings = read_rings(fields.reader(), gpu_count, graph.channels);
    return;
  }
  std::vector<std::string> rings;
  for (const auto& ring : graph.rings) rings.push_back(indices_text(ring));
  if (!rings.empty()) fields.writer().put_list("rings", rings);
}

// `search` in place of a table: what a file below states is not to be taken.
bool says_search(SpecFields& fields, const std::string& key) {
  if (!fields.reading() || !fields.reader().has(key)) return false;
  const Tree* value = fields.reader().value(key);
  note_form(*value, {Form::Kind::choice, {"search"}});
  return value->kind == Tree::Kind::scalar && value->scalar == "search";
}

}  // namespace

std::string_view nvlink_kind_name(NvlinkKind kind) {
  return kNvlinkKinds.at(static_cast<std::size_t>(kind));
}

int links_between(const NvlinkSpec& nvlink, int a, int b) {
  if (nvlink.kind == NvlinkKind::nvswitch) return nvlink.links_per_gpu;
  for (const NvlinkSpec::Pair& pair : nvlink.pairs)
    if (pair.a == std::min(a, b) && pair.b == std::max(a, b)) return pair.links;
  return 0;
}

void nvlink_fields(SpecFields& fields, NvlinkSpec& nvlink, const GpuSpec& gpu, const std::string& nccl) {
  fields.choose("kind", nvlink.kind, kNvlinkKinds);
  const bool has_links = nvlink.kind != NvlinkKind::none;
  has_links ? fields.need("links_per_gpu", nvlink.links_per_gpu, kMostLinksPerGpu)
            : fields.take("links_per_gpu", nvlink.links_per_gpu, kMostLinksPerGpu);
  nvlink_rates(fields, nvlink, gpu, nccl);
  fields.take("latency", nvlink.latency);
  fields.take("domain", nvlink.domain, kMostGpusPerNode);
  if (nvlink.kind == NvlinkKind::mesh) {
    fields.choose("relay", nvlink.relay, kRelayRules);
    fields.take_part("nvb_efficiency", nvlink.nvb_efficiency, 1);
    fields.map("nvb_holds_for", nvlink.nvb_holds_for, range_fields);
    if (!fields.reading()) return write_mesh(fields.writer(), nvlink);
    nvlink.pairs = read_mesh(fields.reader(), gpu.count, nvlink.links_per_gpu);
  } else if (fields.reading()) {
    refuse_relays(fields.reader());
    refuse_links(fields.reader());
  }
}

void nics_fields(SpecFields& fields, NicSpec& nics, int gpu_count) {
  fields.take("per_gpu", nics.per_gpu, 16);
  fields.take("shared_by", nics.shared_by, kMostNicsPerNode);
  fields.take("per_node", nics.per_node, kMostNicsPerNode);
  if (fields.reading()) check_layout(fields.reader(), nics, gpu_count);
  fields.need("rate", nics.rate);
  fields.take("latency", nics.latency);
  fields.take("gpudirect", nics.gpudirect);
  fields.choose("transport", nics.transport, {"infiniband", "roce", "efa", "slingshot", "tcp"});
  fields.choose("rate_basis", nics.rate_basis, {"stated", "inferred", "assumed"});
}

void fabric_fields(SpecFields& fields, FabricSpec& fabric) {
  fields.choose("kind", fabric.kind, {"non_blocking", "fat_tree", "rail_optimised"});
  fields.take("nodes_per_leaf", fabric.nodes_per_leaf, 1'000'000);
  fields.take_real("oversubscription", fabric.oversubscription, Bounds::from(1).to(1e6),
                   "the rate down from a leaf over its rate up, e.g. 2");
  fields.take("latency", fabric.latency);
  fields.take("collapse", fabric.collapse);
  fields.take("sharp", fabric.sharp);
  if (!fields.reading()) return;
  const Place place = fields.reader().place_of("oversubscription");
  if (fabric.kind == "non_blocking" && fabric.oversubscription > 1) {
    throw input_error(place, "a non-blocking fabric has no oversubscription", "Write kind: fat_tree or rail_optimised");
  }
  if (fabric.nodes_per_leaf == 0 && fabric.oversubscription > 1) {
    throw input_error(place, "all nodes are under one leaf, so no traffic crosses the oversubscribed links",
                      "Write nodes_per_leaf too");
  }
}

void graph_fields(SpecFields& fields, ClusterSpec& spec) {
  if (fields.reading() && fields.reader().flag("cross_nic", false)) {
    throw input_error(fields.reader().place_of("cross_nic"),
                      "rings that change NICs from node to node (NCCL_CROSS_NIC) are not simulated",
                      "Leave cross_nic out: every channel keeps its NIC");
  }
  const auto one = [&](const std::string& key, std::optional<GraphSpec>& graph, bool across_nodes) {
    if (says_search(fields, key)) return;
    fields.map(key, graph, [&](SpecFields& inside, GraphSpec& channels) {
      channel_fields(inside, channels, spec.gpu.count, across_nodes);
    });
  };
  one("one_node", spec.graph_one_node, false);
  one("multi_node", spec.graph_multi_node, true);
}

void p2p_fields(SpecFields& fields, P2pSpec& p2p) {
  fields.take("channel_rate", p2p.channel_rate);
  fields.take("channels_per_peer", p2p.channels_per_peer, kMostChannels);
  fields.take("pxn", p2p.pxn);
}

}  // namespace shardsim
