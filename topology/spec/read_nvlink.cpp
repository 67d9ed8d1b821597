#include <fmt/format.h>

#include <set>

#include "topology/spec/limits.h"
#include "topology/spec/readers.h"

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

void read_rates(MapReader& reader, const GpuSpec& gpu, const std::string& nccl, NvlinkSpec& nvlink) {
  const int capability = capability_number(gpu.compute_capability);
  nvlink.per_link = reader.rate("per_link", Bandwidth{data_sheet_rate(capability)});
  const auto known = nccl_link_rate(capability, nccl);
  if (known) {
    nvlink.per_link_effective = reader.rate("per_link_effective", Bandwidth{*known});
  } else if (nvlink.kind != NvlinkKind::none || reader.has("per_link_effective")) {
    nvlink.per_link_effective = reader.rate("per_link_effective");
  }
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
  const std::int64_t links = parse_count(scalar_text(entry.items[2], "a number of NVLinks"), entry.items[2].place);
  if (links < 1 || links > kMostLinksPerGpu) {
    throw input_error(entry.items[2].place, fmt::format("{} NVLinks between two GPUs", links),
                      "Write 1 or more, or leave the pair out");
  }
  return {a, b, static_cast<int>(links)};
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
  throw input_error(links->place, "links are for kind: mesh", "Remove them, or write links: [] over those of the base");
}

NvlinkKind read_kind(MapReader& reader) {
  const std::string kind = reader.choice("kind", {"switch", "mesh", "none"}, "none");
  return kind == "switch" ? NvlinkKind::nvswitch : kind == "mesh" ? NvlinkKind::mesh : NvlinkKind::none;
}

RelayRule read_relay(MapReader& reader) {
  const std::string rule =
      reader.choice("relay", {"widest", "lowest_index", "highest_index", "balanced", "none"}, "widest");
  if (rule == "lowest_index") return RelayRule::lowest_index;
  if (rule == "highest_index") return RelayRule::highest_index;
  if (rule == "balanced") return RelayRule::balanced;
  return rule == "none" ? RelayRule::none : RelayRule::widest;
}

}  // namespace

// The keys about relayed pairs are read for every kind: where nothing is relayed they are true and without effect, and
// so a cluster may change the kind of its base.
NvlinkSpec read_nvlink(MapReader reader, const GpuSpec& gpu, const std::string& nccl) {
  NvlinkSpec nvlink;
  nvlink.kind = read_kind(reader);
  if (nvlink.kind != NvlinkKind::none || reader.has("links_per_gpu")) {
    nvlink.links_per_gpu = small_count(reader, "links_per_gpu", kMostLinksPerGpu);
  }
  read_rates(reader, gpu, nccl, nvlink);
  nvlink.latency = reader.time("latency", nvlink.latency);
  nvlink.relay = read_relay(reader);
  nvlink.nvb_efficiency = reader.efficiency("nvb_efficiency", nvlink.nvb_efficiency);
  if (nvlink.kind == NvlinkKind::mesh) {
    nvlink.pairs = read_mesh(reader, gpu.count, nvlink.links_per_gpu);
  } else {
    refuse_links(reader);
  }
  reader.finish();
  return nvlink;
}

}  // namespace shardsim
