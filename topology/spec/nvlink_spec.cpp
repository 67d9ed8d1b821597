#include "topology/spec/nvlink_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

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

NvlinkSpec::Pair read_pair(const Tree& entry, int gpu_count) {
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

}  // namespace

// Where a file states the rate of the data sheet alone, NCCL's figure is taken in the same proportion.
void NvlinkSpec::rate_keys(Fields& map, const GpuSpec& gpu, const std::string& nccl) {
  const int capability = capability_number(gpu.compute_capability);
  const double sheet = data_sheet_rate(capability);
  if (map.reading()) per_link = {sheet};
  map.usual("20 GB/s below sm70, 25 from sm70, 50 from sm100")
      .take("per_link", per_link,
            "the rate of a link in one direction according to the data sheet. If a file states only this rate, "
            "`per_link_effective` is scaled with it");
  const auto counted = nccl_link_rate(capability, nccl);
  if (map.reading() && counted) per_link_effective = {*counted * (per_link.bytes_per_second / sheet)};
  map.usual(
         "what NCCL assumes: 18 (sm60), 20 (sm70, sm80; 22 with nccl 2.14), 12 (sm86), 20.6 (sm90), 40.1 (sm100) "
         "GB/s")
      .need_if(!counted && kind != NvlinkKind::none, "per_link_effective", per_link_effective,
               "the rate that **all traffic** uses");
}

void NvlinkSpec::links_key(Fields& map, int gpu_count) {
  if (map.reading()) {
    pairs = read_mesh(map.reader(), gpu_count, links_per_gpu);
  } else if (map.writing()) {
    std::vector<std::string> links;
    for (const Pair& pair : pairs) links.push_back(indices_text({pair.a, pair.b, pair.links}));
    if (!links.empty()) map.writer().put_list("links", links);
  } else {
    map.usual("req for mesh")
        .custom("links", list_shape(list_shape(leaf_shape(count_leaf()), Bounds::from(3).to(3))),
                "`[a, b, n]`: n NVLinks between GPUs a and b, with a < b; each pair once; no GPU may have more than "
                "`links_per_gpu` in total. These are numbers of links, not weights");
  }
}

// Keys about relayed pairs are for a mesh. Those of a base whose mesh a later layer replaces go with it; defaults and
// `relay: none` are true of any node, and `links: []` removes those of a base.
void NvlinkSpec::refuse_mesh(Fields& map) {
  if (!map.reading()) return;
  MapReader& reader = map.reader();
  const Tree* const kind = reader.tree().find("kind");
  for (const char* const key : {"relay", "nvb_efficiency", "nvb_holds_for"}) {
    if (!reader.has(key)) continue;
    const Tree& stated = *reader.tree().find(key);
    const bool is_of_base = kind != nullptr && top_layer(stated) < kind->layer;
    const bool is_usual =
        stated.scalar == "widest" || stated.scalar == "none" || stated.scalar == shortest(NvlinkSpec{}.nvb_efficiency);
    map.refuse_if(!is_of_base && !is_usual, key, fmt::format("nvlink.{} has a meaning only with kind: mesh", key),
                  "Remove it, or write kind: mesh");
  }
  const Tree* links = reader.value("links");
  map.refuse_if(links != nullptr && (links->kind != Tree::Kind::list || !links->items.empty()), "links",
                "links can only be stated with kind: mesh",
                "Remove them, or write links: [] to remove those of the base");
}

int links_between(const NvlinkSpec& nvlink, int a, int b) {
  if (nvlink.kind == NvlinkKind::nvswitch) return nvlink.links_per_gpu;
  for (const NvlinkSpec::Pair& pair : nvlink.pairs)
    if (pair.a == std::min(a, b) && pair.b == std::max(a, b)) return pair.links;
  return 0;
}

}  // namespace shardsim
