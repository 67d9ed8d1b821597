#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "topology/import/nccl_elements.h"

namespace shardsim {
namespace {

template <typename Number>
bool parse_whole(std::string_view text, int base, Number& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return fault == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::optional<BusId> parse_bus_id(std::string_view text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() != 3 || parts[0].empty() || parts[0].size() > 8) return std::nullopt;
  if (parts[1].size() != 2 || parts[2].size() != 4 || parts[2][2] != '.') return std::nullopt;
  std::uint64_t domain = 0, bus = 0, device = 0, function = 0;
  const std::string_view tail = parts[2];
  if (!parse_whole(parts[0], 16, domain) || !parse_whole(parts[1], 16, bus)) return std::nullopt;
  if (!parse_whole(tail.substr(0, 2), 16, device) || !parse_whole(tail.substr(3), 16, function)) return std::nullopt;
  return BusId{(domain << 20) | (bus << 12) | (device << 4) | function};
}

const std::string& required_attribute(const XmlElement& element, std::string_view key) {
  if (const std::string* text = element.attribute(key)) return *text;
  throw input_error(element.place, fmt::format("<{}> without the attribute '{}'", element.name, key),
                    fmt::format("Write {}=\"...\"", key));
}

BusId bus_id(const XmlElement& element, std::string_view key) {
  const std::string& text = required_attribute(element, key);
  if (const auto id = parse_bus_id(text)) return *id;
  throw input_error(element.place, fmt::format("{} is no PCI bus id", excerpt(text)),
                    "Write it as DOMAIN:BUS:DEVICE.FUNCTION, e.g. 0000:07:00.0");
}

std::optional<std::int64_t> whole_attribute(const XmlElement& element, std::string_view key) {
  const std::string* text = element.attribute(key);
  if (text == nullptr) return std::nullopt;
  std::int64_t number = 0;
  if (parse_whole(*text, 10, number)) return number;
  throw input_error(element.place, fmt::format("{}={} of <{}> is no whole number", key, excerpt(*text), element.name),
                    "Write digits alone");
}

std::uint64_t hex_attribute(const XmlElement& element, std::string_view key) {
  const std::string* text = element.attribute(key);
  if (text == nullptr || !text->starts_with("0x")) return 0;
  std::uint64_t number = 0;
  return parse_whole(std::string_view(*text).substr(2), 16, number) ? number : 0;
}

std::optional<int> link_generation(const XmlElement& pci) {
  constexpr std::array kRates = {2.5, 5., 8., 16., 32., 64.};  // GT/s
  const std::string* text = pci.attribute("link_speed");
  if (text == nullptr) return std::nullopt;
  double rate = 0;
  std::from_chars(text->data(), text->data() + text->size(), rate);
  const auto found = std::ranges::find(kRates, rate);
  return found == kRates.end() ? std::nullopt : std::optional(static_cast<int>(found - kRates.begin()) + 1);
}

std::optional<int> link_lanes(const XmlElement& pci) {
  const std::string* text = pci.attribute("link_width");
  if (text == nullptr || text->empty()) return std::nullopt;
  const std::int64_t lanes = *whole_attribute(pci, "link_width");
  if (lanes == 0) return 16;
  if (lanes > 0 && lanes <= 32 && (lanes & (lanes - 1)) == 0) return static_cast<int>(lanes);
  throw input_error(pci.place, fmt::format("no PCIe slot has {} lanes", lanes),
                    "Write link_width as 1, 2, 4, 8, 16 or 32");
}

}  // namespace shardsim
