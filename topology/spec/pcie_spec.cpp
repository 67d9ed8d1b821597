#include "topology/spec/pcie_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "topology/spec/cluster_spec.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

// Between two sockets, NVIDIA/nccl src/graph/topo.h: by vendor, and for Intel by generation (2.14 knows Skylake at
// most).
double intel_link(const std::string& model, const std::string& nccl) {
  const auto names = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return model.find(word) != std::string::npos; });
  };
  if (names({"Broadwell"})) return 6e9;
  if (nccl == "2.14") return 9e9;
  if (names({"Sapphire Rapids"})) return 22e9;
  if (names({"Emerald Rapids", "Granite Rapids"})) return 40e9;
  return 10e9;
}

// The switches, GPUs and NICs that a PCIe tree has named so far.
struct Named {
  std::set<std::string> switches;
  std::set<int> gpus, nics;
};

void name_once(std::set<int>& named, const std::vector<int>& indices, const std::string& what, const Place& place) {
  for (const int index : indices) {
    if (named.insert(index).second) continue;
    throw input_error(place, fmt::format("{} {} is twice in the PCIe tree", what, index), "Name it under one switch");
  }
}

void check_parent(const std::string& parent, const Named& named, int sockets, const Place& place) {
  if (named.switches.contains(parent)) return;
  const int socket = whole_number<int>(parent).value_or(-1);
  if (socket >= 0 && socket < sockets) return;
  throw input_error(place, fmt::format("'{}' is neither a CPU socket nor a switch named above", parent),
                    fmt::format("Write a socket (0 to {}), or define the parent before its use", sockets - 1));
}

void check_switch(const PcieSpec::Switch& entry, Named& named, int sockets, const Place& place) {
  check_parent(entry.parent, named, sockets, place);
  name_once(named.gpus, entry.gpus, "GPU", place);
  name_once(named.nics, entry.nics, "NIC", place);
  const bool is_number = entry.name.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number && named.switches.insert(entry.name).second) return;
  throw input_error(place, fmt::format("the switch name '{}' is taken", entry.name), "Name it differently");
}

// The name of a switch, or the number of a socket.
constexpr TextRule kParent{kNameRule.letters, Bounds::from(1), "is neither a CPU socket nor a switch named above",
                           "Write a socket such as 0, or the name of a switch"};

void indices_key(Fields& map, const char* key, std::vector<int>& indices, int end, const char* what) {
  if (map.writing()) return map.writer().put(key, indices_text(indices));
  const Tree* const stated = map.custom(key, list_shape(leaf_shape(count_leaf())), "");
  if (stated != nullptr) indices = read_indices(*stated, end, what);
}

void switch_keys(Fields& map, PcieSpec::Switch& entry, int gpu_count, int nic_count) {
  map.need("switch", entry.name, text_leaf(kNameRule), "");
  map.need("parent", entry.parent, text_leaf(kParent), "");
  indices_key(map, "gpus", entry.gpus, gpu_count, "GPU");
  indices_key(map, "nics", entry.nics, nic_count, "NIC");
  map.take("uplink", entry.uplink, "");
}

}  // namespace

std::vector<PcieSpec::Switch> short_pcie_tree(int gpu_count, const std::optional<NicSpec>& nics, int sockets) {
  const bool nics_at_hosts = nics && nics->per_node > 0;
  const int gpus_per_switch = !nics || nics_at_hosts ? 2 : nics->per_gpu > 0 ? 1 : nics->shared_by;
  const int nics_per_switch = !nics || nics_at_hosts ? 0 : std::max(1, nics->per_gpu);
  std::vector<PcieSpec::Switch> tree;
  for (int first = 0; first < gpu_count; first += gpus_per_switch) {
    const int index = static_cast<int>(tree.size());
    PcieSpec::Switch entry{fmt::format("s{}", index), "", {}, {}};
    for (int gpu = first; gpu < std::min(first + gpus_per_switch, gpu_count); ++gpu) entry.gpus.push_back(gpu);
    for (int i = 0; i < nics_per_switch; ++i) entry.nics.push_back(index * nics_per_switch + i);
    tree.push_back(entry);
  }
  const auto deal = [&](int index, int of) { return fmt::format("{}", index * sockets / of); };
  const int gpu_switches = static_cast<int>(tree.size());
  for (int i = 0; i < gpu_switches; ++i) tree[i].parent = deal(i, gpu_switches);
  for (int nic = 0; nics_at_hosts && nic < nics->per_node; ++nic) {
    tree.push_back({fmt::format("n{}", nic), deal(nic, nics->per_node), {}, {nic}});
  }
  return tree;
}

void PcieSpec::tree_key(Fields& map, int gpu_count, const std::optional<NicSpec>& nics) {
  const int nic_count = nics ? nics->of_node(gpu_count) : 0;
  if (map.reading() && !map.reader().has("tree")) {
    tree = short_pcie_tree(gpu_count, nics, sockets);
    is_tree_short = true;
    return;
  }
  if (map.writing() && is_tree_short && tree == short_pcie_tree(gpu_count, nics, sockets)) return;
  Named named;
  map.usual("see below")
      .list("tree", tree, Bounds::from(1),
            "the PCIe switches: `{switch: name, parent: name or socket, gpus: [..], nics: [..], uplink: rate}`. Every "
            "GPU and NIC appears once, and a parent before its children. `uplink`, to the parent, is that of a slot "
            "unless stated",
            [&](Fields& inside, Switch& entry) {
              switch_keys(inside, entry, gpu_count, nic_count);
              if (inside.reading()) check_switch(entry, named, sockets, inside.reader().tree().place);
            });
}

Bandwidth pcie_rate(const PcieSpec& pcie) {
  const double per_lane = 60.0 * (1 << (pcie.generation - 3));
  return {pcie.lanes * per_lane / 80 * 1e9};
}

Bandwidth pcie_line_rate(const PcieSpec& pcie) {
  constexpr std::array kGigatransfers = {2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
  const double coding = pcie.generation < 3 ? 8.0 / 10 : 128.0 / 130;
  const auto index = static_cast<std::size_t>(std::clamp(pcie.generation, 1, 6) - 1);
  return {pcie.lanes * kGigatransfers[index] * coding / 8 * 1e9};
}

Bandwidth cpu_link_rate(const ClusterSpec& spec) {
  if (spec.pcie.cpu_link) return *spec.pcie.cpu_link;
  if (spec.pcie.cpu_vendor == "amd") return {16e9};
  if (spec.pcie.cpu_vendor == "power") return {32e9};
  if (spec.pcie.cpu_vendor == "arm") return {6e9};
  return {intel_link(spec.pcie.cpu_model, spec.nccl)};
}

// Links of usual two-socket boards x rate x width. Intel (UPI, before
// it QPI, 16 bits of data): Broadwell 2 x 9.6 GT/s, Skylake and Cascade Lake 2 x 10.4, Ice Lake 3 x 11.2, Sapphire and
// Emerald Rapids 3 x 16, Granite Rapids 4 x 24. AMD (xGMI, 16 lanes): Naples 4 x 10.7, Rome and Milan 3 x 18, Genoa and
// Turin 3 x 32. POWER9: the X bus.
Bandwidth usual_socket_link(const std::string& vendor, const std::string& model) {
  struct Cpu {
    std::string_view word;
    double rate;
  };
  constexpr std::array kCpus = {Cpu{"Broadwell", 38.4e9}, Cpu{"Ice Lake", 67.2e9},      Cpu{"Sapphire Rapids", 96e9},
                                Cpu{"Emerald", 96e9},     Cpu{"Granite Rapids", 192e9}, Cpu{"Naples", 85.6e9},
                                Cpu{"Genoa", 192e9},      Cpu{"Turin", 192e9}};
  const auto known =
      std::ranges::find_if(kCpus, [&](const Cpu& cpu) { return model.find(cpu.word) != std::string::npos; });
  if (known != kCpus.end()) return {known->rate};
  if (vendor == "amd") return {108e9};
  return {vendor == "power" ? 64e9 : 41.6e9};
}

// Grace and other arm CPUs vary most; NCCL's figure stands in for them.
Bandwidth socket_link_rate(const ClusterSpec& spec) {
  if (spec.pcie.cpu_link || spec.pcie.cpu_vendor == "arm") return cpu_link_rate(spec);
  return usual_socket_link(spec.pcie.cpu_vendor, spec.pcie.cpu_model);
}

double host_copy_efficiency(const PcieSpec& pcie) {
  return pcie.host_copy_efficiency.value_or(1);
}

Bandwidth host_link_rate(const ClusterSpec& spec) {
  return spec.host.gpu_link_bandwidth.value_or(pcie_rate(spec.pcie));
}

int nics_of_node(const ClusterSpec& spec) {
  return spec.nics ? spec.nics->of_node(spec.gpu.count) : 0;
}

}  // namespace shardsim
