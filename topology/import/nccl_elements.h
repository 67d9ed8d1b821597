#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "topology/import/node_inventory.h"

namespace shardsim {

// One element of an XML document, with its place. Text between elements is not kept: the formats read here have none.
struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;  // in file order, names unique, entities replaced
  std::vector<XmlElement> children;
  Place place;

  const std::string* attribute(std::string_view key) const;  // null when absent
};

// Reads the elements of a document with Expat, which knows the line of each and refuses what is not well-formed.
// Errors (Failure::input, with line and column): not well-formed, nesting over 64, a DOCTYPE with definitions of its
// own.
XmlElement parse_xml(std::string_view text, const std::string& source);

// A PCI bus id, "0000:07:00.0". Written with differing zeros and cases; compared as a number.
struct BusId {
  std::uint64_t number = 0;

  auto operator<=>(const BusId&) const = default;
  std::uint64_t card() const { return number >> 4; }  // without the function digit
};

std::optional<BusId> parse_bus_id(std::string_view text);

// The typed attributes of NCCL's topology elements. Errors: Failure::input at the element.
BusId bus_id(const XmlElement& element, std::string_view key);
const std::string& required_attribute(const XmlElement& element, std::string_view key);
std::optional<std::int64_t> whole_attribute(const XmlElement& element,
                                            std::string_view key);             // decimal, may be negative
std::uint64_t hex_attribute(const XmlElement& element, std::string_view key);  // "0x060400"; absent or no number: 0

// "16.0 GT/s PCIe" is generation 4. Nothing when absent, empty or not known ("Unknown speed").
std::optional<int> link_generation(const XmlElement& pci);
// Lanes; 0 means 16, nothing when absent or empty. Errors: no number of lanes that a slot has.
std::optional<int> link_lanes(const XmlElement& pci);

// The meaning of single elements of NCCL's topology.

// Class codes of the PCI-SIG, their first two bytes.
enum PciClass : std::uint64_t {
  kEthernet = 0x0200,
  kInfiniband = 0x0207,
  kVga = 0x0300,
  k3d = 0x0302,
  kBridge = 0x0604
};

std::uint64_t class_of(const XmlElement& pci);

bool is_named(const XmlElement& element, std::string_view name);
bool has_child(const XmlElement& element, std::string_view name);

template <typename Visit>
void visit_below(const XmlElement& element, const Visit& visit) {
  for (const XmlElement& child : element.children) {
    visit(child);
    visit_below(child, visit);
  }
}

// Broadcom's switches of generation 4 and 5 show themselves as two levels (0 above 1) though every port has full rate,
// so NCCL makes one of them (NVIDIA/nccl src/graph/topo.cc, getBcmGen and ncclTopoFlattenBcmSwitches). 0: another one.
int broadcom_generation(const XmlElement& pci, int level);

// Vendor, model and socket link of the inventory.
void name_cpu(const XmlElement& cpu, NodeInventory& node);

// Guessed from the name of the NIC as NCCL writes it; "" when it says nothing.
std::string transport_of(const std::string& name, std::uint64_t pci_class);

// `speed` is in Mbit/s; nothing when absent or not above 0. Errors (Failure::input): over 1 Pbit/s.
std::optional<Bandwidth> net_rate(const XmlElement& net);

// Rate of the link between a GPU and its Grace CPU, one direction; nothing without <c2c>. Errors: a count or rate below
// 1.
std::optional<Bandwidth> c2c_rate(const XmlElement& gpu);

// Refuses elements that NCCL does not write, below any element. Attributes that it does not write are only counted:
// returns them as "gpu.colour", each once. Errors: Failure::input at the element.
std::vector<std::string> check_nccl_elements(const XmlElement& system);

// Every bus id of a host once and none below itself; every pcilink leads to another of them. Errors: Failure::input at
// the element.
void check_bus_ids(const XmlElement& system);

// Fills `switch_links` or `pairs` of the inventory from the <nvlink> elements of its GPUs; `elements` and `ids` are
// theirs, in the order of node.gpus. Errors (Failure::input): a count below 1, a target that is no GPU of the file or
// the GPU itself, counts that differ between the two ends, GPUs linked both to a switch and to each other, GPUs of
// which only some are linked to a switch.
void join_nvlinks(const std::vector<const XmlElement*>& elements, const std::vector<BusId>& ids, NodeInventory& node);

}  // namespace shardsim
