#pragma once

#include <optional>
#include <string>

#include "topology/import/nccl_attributes.h"
#include "topology/import/node_inventory.h"

namespace shardsim {

// What single elements of NCCL's topology mean.

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

// Of the link between a GPU and its Grace CPU, one direction; nothing without <c2c>. Errors: a count or rate below 1.
std::optional<Bandwidth> c2c_rate(const XmlElement& gpu);

}  // namespace shardsim
