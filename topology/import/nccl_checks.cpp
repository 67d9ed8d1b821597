#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "topology/import/nccl_elements.h"

namespace shardsim {
namespace {

struct KnownElement {
  std::string_view name;
  std::string_view parents;     // blank-separated
  std::string_view attributes;  // blank-separated
};

// NVIDIA/nccl src/graph/xml.cc and topo.cc.
constexpr KnownElement kElements[] = {
    {"cpu", "system", "numaid host_hash affinity arch vendor familyid modelid"},
    {"pci", "cpu pci", "busid class vendor device subsystem_vendor subsystem_device link_speed link_width"},
    {"gpu", "pci", "dev sm rank gdr mlopart"},
    {"nvlink", "gpu", "target count tclass"},
    {"c2c", "gpu", "bw count"},
    {"nic", "cpu pci", ""},
    {"net", "nic", "name dev speed port guid latency maxconn gdr coll rail plane keep"},
    {"pcilink", "pci", "target"},
};

bool is_among(std::string_view word, std::string_view words) {
  const std::vector<std::string> list = split(words, ' ');
  return std::find(list.begin(), list.end(), word) != list.end();
}

const KnownElement& known_element(const XmlElement& element, const std::string& parent) {
  std::vector<std::string> names;
  for (const KnownElement& known : kElements) {
    if (known.name == element.name && is_among(parent, known.parents)) return known;
    if (is_among(parent, known.parents)) names.emplace_back(known.name);
  }
  if (element.name == "xgmi")
    throw input_error(element.place, "<xgmi> is a link between GPUs of AMD", "Only GPUs of NVIDIA are modelled");
  throw input_error(element.place, fmt::format("unknown element <{}> in <{}>", element.name, parent),
                    known_names_hint(element.name, names));
}

void check_below(const XmlElement& parent, std::set<std::string>& unknown) {
  for (const XmlElement& child : parent.children) {
    const KnownElement& known = known_element(child, parent.name);
    for (const auto& [name, value] : child.attributes) {
      if (!is_among(name, known.attributes)) unknown.insert(fmt::format("{}.{}", child.name, name));
    }
    check_below(child, unknown);
  }
}

// A bus id below itself would be a cycle of switches; beside itself, two devices in one place.
void check_unique(const XmlElement& parent, std::vector<BusId>& above, std::map<BusId, int>& lines) {
  for (const XmlElement& child : parent.children) {
    if (!is_named(child, "pci")) continue;
    const BusId id = bus_id(child, "busid");
    if (std::find(above.begin(), above.end(), id) != above.end()) {
      throw input_error(child.place,
                        fmt::format("the PCIe tree is cyclic: {} is below itself", *child.attribute("busid")),
                        "Name every device once");
    }
    if (const auto [first, is_new] = lines.emplace(id, child.place.line); !is_new) {
      throw input_error(child.place, fmt::format("{} is already on line {}", *child.attribute("busid"), first->second),
                        "Name every device once");
    }
    above.push_back(id);
    check_unique(child, above, lines);
    above.pop_back();
  }
}

void check_pcilink(const XmlElement& pci, const std::map<BusId, int>& lines) {
  for (const XmlElement& child : pci.children) {
    if (!is_named(child, "pcilink")) continue;
    const BusId target = bus_id(child, "target");
    if (target == bus_id(pci, "busid")) {
      throw input_error(child.place, "the PCIe tree is cyclic: a pcilink to itself", "Name another switch");
    }
    if (lines.contains(target)) continue;
    throw input_error(child.place, fmt::format("a pcilink to {}, which is not in the file", *child.attribute("target")),
                      "Name the bus id of a switch");
  }
}

}  // namespace

std::vector<std::string> check_nccl_elements(const XmlElement& system) {
  std::set<std::string> unknown;
  check_below(system, unknown);
  return {unknown.begin(), unknown.end()};
}

void check_bus_ids(const XmlElement& system) {
  std::map<std::string, std::map<BusId, int>> lines_of_host;
  for (const XmlElement& cpu : system.children) {
    const std::string* host = cpu.attribute("host_hash");
    std::vector<BusId> above;
    check_unique(cpu, above, lines_of_host[host == nullptr ? "" : *host]);
  }
  for (const XmlElement& cpu : system.children) {
    const std::string* host = cpu.attribute("host_hash");
    const auto& lines = lines_of_host[host == nullptr ? "" : *host];
    visit_below(cpu, [&](const XmlElement& element) {
      if (is_named(element, "pci")) check_pcilink(element, lines);
    });
  }
}

}  // namespace shardsim
