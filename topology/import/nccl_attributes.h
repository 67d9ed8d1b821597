#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "topology/import/xml.h"

namespace shardsim {

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

}  // namespace shardsim
