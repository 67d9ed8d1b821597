#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "topology/import/nccl_elements.h"
#include "topology/import/node_inventory.h"
#include "topology/spec/cluster_spec.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {
namespace {

constexpr std::uint64_t kNvidia = 0x10de;
constexpr int kWholeSlot = 16;      // lanes
constexpr double kRateStep = 10e6;  // bytes/s, of the rates that slots leave to NICs

void refuse_many_gpus(std::size_t count, const Place& place) {
  if (count <= kMostGpusPerNode) return;
  throw input_error(place, fmt::format("{} GPUs in one host, at most {} are possible", count, kMostGpusPerNode),
                    "Import the description of one node");
}

// PCI vendors of GPUs that NCCL does not run on, as the public PCI ID repository names them.
constexpr std::array<std::pair<std::uint64_t, std::string_view>, 6> kForeignVendors = {{{0x1002, "AMD"},
                                                                                        {0x1d94, "Hygon"},
                                                                                        {0x1ed5, "Moore Threads"},
                                                                                        {0x19e5, "Huawei"},
                                                                                        {0x1da3, "Habana"},
                                                                                        {0x8086, "Intel"}}};

// A board's management controller has a display of class VGA, too: where the vendor is stated, it must be NVIDIA.
bool is_gpu_slot(const XmlElement& pci) {
  const std::uint64_t code = class_of(pci);
  const bool stated = pci.attribute("vendor") != nullptr;
  return code == k3d || (code == kVga && (!stated || hex_attribute(pci, "vendor") == kNvidia));
}

// The vendor of a GPU that is not NVIDIA's, else "".
std::string gpu_vendor(const XmlElement& pci, bool is_skeleton) {
  const bool is_gpu = has_child(pci, "gpu") || (is_skeleton && class_of(pci) == k3d);
  const auto found = std::ranges::find(kForeignVendors, hex_attribute(pci, "vendor"),
                                       &std::pair<std::uint64_t, std::string_view>::first);
  return is_gpu && found != kForeignVendors.end() ? std::string(found->second) : "";
}

// One host of the file on its way to an inventory.
class Importer {
 public:
  explicit Importer(const XmlElement& system) : system_(system) {
    node_.place = system.place;
    const std::vector<std::string> unknown = check_nccl_elements(system);
    if (!unknown.empty()) node_.notes.push_back("attributes unknown to this reader, ignored: " + join(unknown));
    visit_below(system, [&](const XmlElement& element) {
      is_skeleton_ = is_skeleton_ && !is_named(element, "gpu");
      has_nets_ = has_nets_ || (is_named(element, "net") && element.attribute("dev") != nullptr);
    });
  }

  NodeInventory read() {
    check_bus_ids(system_);
    node_.sockets = 0;
    for (const XmlElement* cpu : cpus()) read_cpu(*cpu);
    order_gpus();
    place_gpus();
    read_links();
    bound_nics_by_slots();
    std::sort(node_.notes.begin(), node_.notes.end());
    node_.notes.erase(std::unique(node_.notes.begin(), node_.notes.end()), node_.notes.end());
    return std::move(node_);
  }

 private:
  struct FoundGpu {
    const XmlElement* pci;
    const XmlElement* gpu;  // null: a slot
    BusId id;
    std::size_t entry;  // of the tree
    std::optional<std::int64_t> rank;
  };

  // The CPUs of the host; each NUMA node once.
  std::vector<const XmlElement*> cpus() {
    std::vector<const XmlElement*> cpus;
    std::set<std::string> numa_nodes;
    for (const XmlElement& cpu : system_.children) {
      if (!numa_nodes.insert(required_attribute(cpu, "numaid")).second) {
        throw input_error(cpu.place, fmt::format("a second cpu with numaid {}", excerpt(*cpu.attribute("numaid"))),
                          "Give every NUMA node of a host its own number");
      }
      cpus.push_back(&cpu);
    }
    if (cpus.empty()) throw input_error(system_.place, "a topology without <cpu>", "Import a whole dump");
    return cpus;
  }

  std::size_t add_entry(const std::string& parent) {
    node_.tree.push_back({fmt::format("s{}", node_.tree.size()), parent, {}, {}});
    return node_.tree.size() - 1;
  }

  void read_cpu(const XmlElement& cpu) {
    const int socket = node_.sockets++;
    if (socket == 0) name_cpu(cpu, node_);
    // Devices without a switch of their own hang on this one, which stands for the socket until it is known to be
    // needed.
    for (const XmlElement& child : cpu.children) {
      const std::size_t own = add_entry(fmt::format("{}", socket));
      if (is_named(child, "pci")) read_pci(child, own, nullptr);
      if (is_named(child, "nic")) read_nets(child, own, nullptr);
    }
  }

  // `above` is the entry that the element may use when it is a device, and that it is when it is a switch of the
  // socket.
  void read_pci(const XmlElement& pci, std::size_t above, const XmlElement* parent) {
    const bool is_switch = class_of(pci) == kBridge || has_child(pci, "pci");
    if (is_switch && parent != nullptr) {
      const int generation = broadcom_generation(*parent, 0);
      const bool is_same_switch = generation > 0 && broadcom_generation(pci, 1) == generation;
      if (!is_same_switch) above = add_entry(node_.tree[above].name);
    }
    read_device(pci, above);
    for (const XmlElement& child : pci.children) {
      if (is_named(child, "pci")) read_pci(child, above, &pci);
      if (is_named(child, "nic")) read_nets(child, above, &pci);
      if (is_named(child, "pcilink"))
        node_.notes.emplace_back("links between PCIe switches (pcilink) are not modelled");
    }
  }

  void read_device(const XmlElement& pci, std::size_t above) {
    const BusId id = bus_id(pci, "busid");
    const std::string vendor = gpu_vendor(pci, is_skeleton_);
    if (!vendor.empty()) {
      throw input_error(pci.place, fmt::format("{} is a GPU of {}", *pci.attribute("busid"), vendor),
                        "Only GPUs of NVIDIA are modelled");
    }
    for (const XmlElement& child : pci.children) {
      if (is_named(child, "gpu")) gpus_.push_back({&pci, &child, id, above, whole_attribute(child, "rank")});
    }
    const std::uint64_t code = class_of(pci);
    if (is_skeleton_ && is_gpu_slot(pci)) gpus_.push_back({&pci, nullptr, id, above, std::nullopt});
    if (!has_nets_ && (code == kEthernet || code == kInfiniband)) read_nic_slot(pci, above);
  }

  // Functions of one card are one NIC.
  void read_nic_slot(const XmlElement& pci, std::size_t above) {
    if (!nic_cards_.insert(bus_id(pci, "busid").card()).second) return;
    node_.tree[above].nics.push_back(static_cast<int>(node_.nics.size()));
    const std::string transport = class_of(pci) == kInfiniband ? "infiniband" : "";
    slots_[bus_id(pci, "busid").card()] = {&pci, {static_cast<int>(node_.nics.size())}};
    node_.nics.push_back({*pci.attribute("busid"), std::nullopt, transport, true});
  }

  // `pci`: the card; null for a NIC without a slot.
  void read_nets(const XmlElement& nic, std::size_t above, const XmlElement* pci) {
    for (const XmlElement& net : nic.children) {
      const auto dev = whole_attribute(net, "dev");
      if (!dev || !devs_.insert(*dev).second)
        continue;  // NCCL skips the first, and lists a NIC without PCI slot per CPU
      const std::string* name = net.attribute("name");
      const std::string shown = name == nullptr ? fmt::format("net{}", *dev) : *name;
      const bool gpudirect = whole_attribute(net, "gdr").value_or(1) != 0;
      if (pci != nullptr) {
        Slot& slot = slots_[bus_id(*pci, "busid").card()];
        slot.pci = pci;
        slot.nics.push_back(static_cast<int>(node_.nics.size()));
      }
      node_.tree[above].nics.push_back(static_cast<int>(node_.nics.size()));
      node_.nics.push_back({shown, net_rate(net), transport_of(shown, pci == nullptr ? 0 : class_of(*pci)), gpudirect});
    }
  }

  // A card whose slot is that of the GPUs is bounded by it in every prediction, whatever its rate.
  bool has_slot_of_gpus(int generation, int lanes) const {
    return generation == node_.pcie_generation && lanes == node_.pcie_lanes;
  }

  // The ports of a card share the lanes of its slot.
  void bound_nics_by_slots() {
    for (const auto& [card, slot] : slots_) {
      const auto generation = link_generation(*slot.pci), lanes = link_lanes(*slot.pci);
      // A virtual machine states the generation of its own bridges, but lanes only where it knows them.
      if (!generation || *generation < 3 || !lanes || *lanes >= kWholeSlot) continue;
      if (slot.nics.size() == 1 && has_slot_of_gpus(*generation, *lanes)) continue;
      PcieSpec pcie;
      pcie.generation = *generation;
      pcie.lanes = *lanes;
      const double share = pcie_line_rate(pcie).bytes_per_second / static_cast<double>(slot.nics.size());
      const Bandwidth part{std::round(share / kRateStep) * kRateStep};
      for (const int nic : slot.nics) {
        NodeInventory::Nic& port = node_.nics[static_cast<std::size_t>(nic)];
        if (!port.rate || *port.rate <= part) continue;
        node_.notes.push_back(
            fmt::format("NIC {}: its {} of PCIe {}.0 x{} carry {}, less than its {}", port.name,
                        slot.nics.size() > 1 ? fmt::format("part of the {} ports", slot.nics.size()) : "lanes",
                        *generation, *lanes, to_text(part), to_text(*port.rate)));
        port.rate = part;
        port.is_rate_of_slot = true;
      }
    }
  }

  // By rank when all have one, else by bus id.
  void order_gpus() {
    refuse_many_gpus(gpus_.size(), system_.place);
    const bool ranked =
        std::all_of(gpus_.begin(), gpus_.end(), [](const FoundGpu& gpu) { return gpu.rank.has_value(); });
    std::sort(gpus_.begin(), gpus_.end(), [&](const FoundGpu& a, const FoundGpu& b) {
      return ranked && a.rank != b.rank ? a.rank < b.rank : a.id < b.id;
    });
    for (std::size_t i = 1; ranked && i < gpus_.size(); ++i) {
      if (gpus_[i].rank != gpus_[i - 1].rank) continue;
      throw input_error(gpus_[i].gpu->place, fmt::format("rank {} is on two GPUs", *gpus_[i].rank),
                        "Give each GPU one rank");
    }
  }

  void place_gpus() {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const FoundGpu& found = gpus_[i];
      NodeInventory::Gpu gpu{*found.pci->attribute("busid"), found.pci->place, std::nullopt, ""};
      if (found.gpu != nullptr) {
        gpu.place = found.gpu->place;
        const auto sm = whole_attribute(*found.gpu, "sm");
        if (sm && (*sm < 10 || *sm > 999)) {
          throw input_error(gpu.place, fmt::format("sm={} is no compute capability", *sm), "Write 80 for 8.0");
        }
        if (sm) gpu.capability = static_cast<int>(*sm);
      }
      const std::string* device = found.pci->attribute("device");
      const GpuModel* model = device == nullptr ? nullptr : gpu_model_of_pci_id(*device);
      if (device != nullptr && hex_attribute(*found.pci, "vendor") == kNvidia) {
        if (model != nullptr) gpu.model = model->name;
        if (model == nullptr && hex_attribute(*found.pci, "device") != 0) gpu.unknown_id = *device;
      }
      node_.gpus.push_back(gpu);
      node_.tree[found.entry].gpus.push_back(static_cast<int>(i));
    }
  }

  // Returns the value that most GPUs have; the lowest of equally frequent ones; nothing when no GPU has one.
  template <typename Read>
  std::optional<int> commonest(const std::string& what, Read read_slot) {
    std::map<int, int> count_of;
    for (const FoundGpu& gpu : gpus_) {
      if (const auto value = read_slot(*gpu.pci)) ++count_of[*value];
    }
    if (count_of.empty()) return std::nullopt;
    if (count_of.size() > 1) node_.notes.push_back("the GPUs' slots differ in " + what + "; the commonest counts");
    return std::max_element(count_of.begin(), count_of.end(), [](auto& a, auto& b) { return a.second < b.second; })
        ->first;
  }

  void read_links() {
    node_.pcie_generation = commonest("PCIe generation", link_generation);
    node_.pcie_lanes = commonest("lanes", link_lanes);
    node_.nvlink_is_known = !is_skeleton_;
    if (is_skeleton_) {
      node_.notes.emplace_back("GPUs: slots by their PCI class, the file is a skeleton");
      return;
    }
    std::vector<const XmlElement*> elements;
    std::vector<BusId> ids;
    for (const FoundGpu& gpu : gpus_) {
      elements.push_back(gpu.gpu);
      ids.push_back(gpu.id);
      if (const auto rate = c2c_rate(*gpu.gpu)) node_.host_link = rate;
    }
    join_nvlinks(elements, ids, node_);
  }

  const XmlElement& system_;
  NodeInventory node_;
  std::vector<FoundGpu> gpus_;
  struct Slot {
    const XmlElement* pci = nullptr;
    std::vector<int> nics;
  };
  std::set<std::uint64_t> nic_cards_;
  std::map<std::uint64_t, Slot> slots_;  // of NICs, by card
  std::set<std::int64_t> devs_;          // of the NICs read
  bool is_skeleton_ = true;
  bool has_nets_ = false;
};

// The file's hosts, each with its own CPUs, in order of appearance. NCCL writes several where an NVLink domain joins
// them.
std::vector<XmlElement> hosts_of(const XmlElement& system) {
  std::vector<std::string> names;
  std::vector<XmlElement> hosts;
  for (const XmlElement& cpu : system.children) {
    const std::string* const hash = cpu.attribute("host_hash");
    const std::string name = hash == nullptr ? "" : *hash;
    const auto known = std::ranges::find(names, name);
    if (known == names.end()) {
      names.push_back(name);
      hosts.push_back({system.name, system.attributes, {cpu}, hosts.empty() ? system.place : cpu.place});
    } else {
      hosts[static_cast<std::size_t>(known - names.begin())].children.push_back(cpu);
    }
  }
  if (hosts.empty()) hosts.push_back(system);
  return hosts;
}

std::string difference(const NodeInventory& host, const NodeInventory& first) {
  if (host.gpus.size() != first.gpus.size())
    return fmt::format("has {} GPUs, not {}", host.gpus.size(), first.gpus.size());
  for (std::size_t gpu = 0; gpu < host.gpus.size(); ++gpu) {
    if (host.gpus[gpu].model != first.gpus[gpu].model) return fmt::format("has another model as GPU {}", gpu);
    if (host.switch_links.size() != first.switch_links.size() || host.switch_links.empty()) continue;
    if (host.switch_links[gpu] != first.switch_links[gpu])
      return fmt::format("has {} NVLinks at GPU {}, not {}", host.switch_links[gpu], gpu, first.switch_links[gpu]);
  }
  if (host.pairs != first.pairs || host.switch_links.size() != first.switch_links.size()) return "has other NVLinks";
  if (host.nics.size() != first.nics.size())
    return fmt::format("has {} NICs, not {}", host.nics.size(), first.nics.size());
  return host.tree == first.tree ? "" : "has another PCIe tree";
}

// Describes the first host that can be read, and says of every other one what is different there.
NodeInventory read_hosts(const std::vector<XmlElement>& hosts) {
  std::vector<std::string> faults(hosts.size());
  std::vector<std::optional<NodeInventory>> read(hosts.size());
  std::optional<Error> first_fault;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    try {
      read[i] = Importer(hosts[i]).read();
    } catch (const Error& fault) {
      if (!first_fault) first_fault = fault;
      faults[i] = fault.what();
    }
  }
  const auto sound = std::ranges::find_if(read, [](const auto& host) { return host.has_value(); });
  if (sound == read.end()) throw Error(*first_fault);
  NodeInventory described = **sound;
  const auto of = static_cast<std::size_t>(sound - read.begin());
  described.nodes = static_cast<int>(hosts.size());
  described.is_one_domain = !described.switch_links.empty();
  described.notes.push_back(
      fmt::format("host {} of {} is described, and all are taken to be like it", of + 1, hosts.size()));
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string other = read[i] ? difference(*read[i], **sound) : "cannot be read: " + faults[i];
    if (!other.empty()) described.notes.push_back(fmt::format("host {} {}", i + 1, other));
  }
  return described;
}

}  // namespace

NodeInventory read_nccl_xml(std::string_view text, const std::string& source) {
  const XmlElement root = parse_xml(text, source);
  if (is_named(root, "graphs")) {
    throw input_error(root.place, "this is NCCL's graph dump, not its topology", "Dump it with NCCL_TOPO_DUMP_FILE");
  }
  if (!is_named(root, "system")) {
    throw input_error(root.place, fmt::format("the root is <{}>, not <system>", root.name),
                      "Import a topology dumped with NCCL_TOPO_DUMP_FILE");
  }
  const std::vector<XmlElement> hosts = hosts_of(root);
  return hosts.size() == 1 ? Importer(root).read() : read_hosts(hosts);
}

}  // namespace shardsim
