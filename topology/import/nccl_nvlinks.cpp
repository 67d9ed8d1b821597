#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "topology/import/nccl_elements.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

constexpr std::uint64_t kNvswitchClass = 0x068000;
constexpr std::uint64_t kCpuClass = 0x068001;
constexpr BusId kHiddenSwitch{(0xfffffffULL << 20) | 0xffff0};  // "fffffff:ff:ff.0", what a virtual machine shows

enum class Target { gpu, nvswitch, cpu };

Target target_of(const XmlElement& link) {
  switch (hex_attribute(link, "tclass")) {
    case kNvswitchClass:
      return Target::nvswitch;
    case kCpuClass:
      return Target::cpu;
    default:
      break;
  }
  return bus_id(link, "target") == kHiddenSwitch ? Target::nvswitch : Target::gpu;
}

int link_count(const XmlElement& link) {
  const auto count = whole_attribute(link, "count");
  if (!count) required_attribute(link, "count");
  if (*count >= 1 && *count <= kMostLinksPerGpu) return static_cast<int>(*count);
  throw input_error(link.place, fmt::format("an NVLink count of {}", *count), "Write 1 or more, or leave it out");
}

// The GPU at the other end. NCCL passes over GPUs that take no part in the job, and so do we, with a note; some
// virtual machines hide the peer and name the GPU itself.
std::optional<std::size_t> peer_of(const XmlElement& link, std::size_t own, const std::vector<BusId>& ids,
                                   NodeInventory& node) {
  const std::string& text = required_attribute(link, "target");
  const auto found = std::find(ids.begin(), ids.end(), bus_id(link, "target"));
  if (found == ids.end()) {
    node.notes.push_back(fmt::format("NVLinks to {}, which is no GPU of the file, are left out", excerpt(text)));
    return std::nullopt;
  }
  const auto peer = static_cast<std::size_t>(found - ids.begin());
  if (peer != own) return peer;
  node.notes.push_back(fmt::format(
      "NVLinks of {} to itself are left out: the file hides their other end; add the key nvlink before a run",
      excerpt(text)));
  return std::nullopt;
}

using Counts = std::vector<std::vector<int>>;

// Adds up the NVLinks that one GPU lists, by target.
void count_links(const XmlElement& gpu, std::size_t own, const std::vector<BusId>& ids, Counts& counts,
                 NodeInventory& node) {
  for (const XmlElement& link : gpu.children) {
    if (link.name != "nvlink") continue;
    bus_id(link, "target");
    const int count = link_count(link);
    switch (target_of(link)) {
      case Target::gpu:
        if (const auto peer = peer_of(link, own, ids, node)) counts[own][*peer] += count;
        break;
      case Target::nvswitch:
        node.switch_links[own] += count;
        break;
      case Target::cpu:
        node.notes.push_back(fmt::format("{} NVLinks of GPU {} to its CPU are not modelled", count, own));
    }
  }
}

void check_ends(const Counts& counts, const std::vector<const XmlElement*>& elements) {
  for (std::size_t a = 0; a < counts.size(); ++a) {
    for (std::size_t b = 0; b < counts.size(); ++b) {
      if (counts[a][b] <= counts[b][a]) continue;
      throw input_error(
          elements[a]->place,
          fmt::format("GPU {} has {} NVLinks to GPU {}, which has {} back", a, counts[a][b], b, counts[b][a]),
          "Write the same count at both ends");
    }
  }
}

void check_switch(const NodeInventory& node, const std::vector<const XmlElement*>& elements) {
  for (std::size_t gpu = 0; gpu < elements.size(); ++gpu) {
    if (node.switch_links[gpu] > 0) continue;
    throw gpu_off_switch(elements[gpu]->place, fmt::format("GPU {}", gpu));
  }
  if (node.pairs.empty()) return;
  throw input_error(elements[node.pairs.front().a]->place, "NVLinks to a switch and between GPUs in one node",
                    "A node has either a switch or a mesh of NVLinks");
}

}  // namespace

void join_nvlinks(const std::vector<const XmlElement*>& elements, const std::vector<BusId>& ids, NodeInventory& node) {
  Counts counts(elements.size(), std::vector<int>(elements.size()));
  node.switch_links.assign(elements.size(), 0);
  for (std::size_t gpu = 0; gpu < elements.size(); ++gpu) count_links(*elements[gpu], gpu, ids, counts, node);
  check_ends(counts, elements);
  for (int a = 0; a < static_cast<int>(elements.size()); ++a) {
    for (int b = a + 1; b < static_cast<int>(elements.size()); ++b) {
      if (counts[a][b] > 0) node.pairs.push_back({a, b, counts[a][b]});
    }
  }
  const bool has_switch = std::any_of(node.switch_links.begin(), node.switch_links.end(), [](int n) { return n > 0; });
  if (has_switch) return check_switch(node, elements);
  node.switch_links.clear();
}

}  // namespace shardsim
