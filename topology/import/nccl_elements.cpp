#include "topology/import/nccl_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace shardsim {
namespace {

template <typename Number>
bool parse_whole(std::string_view text, int base, Number& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return fault == std::errc{} && end == text.data() + text.size();
}

// NCCL tells Intel's generations by the model id (NVIDIA/nccl src/graph/topo.cc).
std::string intel_model(std::int64_t id) {
  if (id >= 0xcf) return "Emerald Rapids";
  if (id >= 0x8f) return "Sapphire Rapids";
  return id >= 0x55 ? "Skylake" : "Broadwell";
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
  throw input_error(element.place,
                    fmt::format("{}={} of <{}> is not a whole number", key, excerpt(*text), element.name),
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

std::uint64_t class_of(const XmlElement& pci) {
  return hex_attribute(pci, "class") >> 8;
}

bool is_named(const XmlElement& element, std::string_view name) {
  return element.name == name;
}

bool has_child(const XmlElement& element, std::string_view name) {
  return std::any_of(element.children.begin(), element.children.end(),
                     [&](const XmlElement& child) { return is_named(child, name); });
}

int broadcom_generation(const XmlElement& pci, int level) {
  if (hex_attribute(pci, "vendor") != 0x1000 || hex_attribute(pci, "subsystem_vendor") != 0x1000) return 0;
  const std::uint64_t device = hex_attribute(pci, "device");
  const std::uint64_t family = hex_attribute(pci, "subsystem_device") >> 12;
  if (device == 0xc010 && family == 0xa) return 4;
  return device == 0xc030 && family == static_cast<std::uint64_t>(level) ? 5 : 0;
}

// By the family as NCCL writes it, the base family and the extended one in the next four bits (AMD's public list of
// families: 17h, 19h, 1Ah).
std::string amd_model(std::int64_t family, std::int64_t model) {
  constexpr std::int64_t kRome = 0x31, kGenoa = 0x10;
  if (family == 143) return model >= kRome ? "Rome" : "Naples";
  if (family == 175) return model >= kGenoa ? "Genoa" : "Milan";
  return family == 191 ? "Turin" : "";
}

void name_cpu(const XmlElement& cpu, NodeInventory& node) {
  const std::string* arch = cpu.attribute("arch");
  const std::string* vendor = cpu.attribute("vendor");
  const std::int64_t model = whole_attribute(cpu, "modelid").value_or(-1);
  if (arch != nullptr && *arch == "arm64") node.cpu_vendor = "arm";
  if (arch != nullptr && *arch == "ppc64") node.cpu_vendor = "power";
  if (vendor == nullptr || !node.cpu_vendor.empty()) return;
  if (*vendor == "AuthenticAMD") {
    node.cpu_vendor = "amd";
    node.cpu_model = amd_model(whole_attribute(cpu, "familyid").value_or(0), model);
  }
  if (*vendor == "GenuineIntel") {
    node.cpu_vendor = "intel";
    if (model >= 0) node.cpu_model = intel_model(model);
  }
  if (*vendor == "CentaurHauls" || *vendor == "  Shanghai  ") {
    node.cpu_vendor = "intel";
    node.cpu_model = "Zhaoxin";
    node.cpu_link = Bandwidth{model == 91 ? 9e9 : 6e9};
  }
  if (node.cpu_vendor.empty()) node.unknown_cpu = *vendor;
}

std::string transport_of(const std::string& name, std::uint64_t pci_class) {
  const auto starts = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (starts("rdmap") || starts("efa")) return "efa";
  if (starts("roce")) return "roce";
  if (starts("cxi") || starts("hsn")) return "slingshot";
  if (starts("mlx") || starts("ib")) return pci_class == kEthernet ? "roce" : "infiniband";
  return starts("eth") || starts("en") ? "tcp" : "";
}

std::optional<Bandwidth> net_rate(const XmlElement& net) {
  constexpr std::int64_t kMost = 1'000'000'000;  // 1 Pbit/s
  const std::int64_t mbit = whole_attribute(net, "speed").value_or(0);
  if (mbit <= 0) return std::nullopt;
  if (mbit <= kMost) return Bandwidth{static_cast<double>(mbit) * 1e6 / 8};
  throw input_error(net.place, fmt::format("a NIC of {} Mbit/s", mbit), "speed is in Mbit/s");
}

std::optional<Bandwidth> c2c_rate(const XmlElement& gpu) {
  std::optional<Bandwidth> rate;
  for (const XmlElement& child : gpu.children) {
    if (!is_named(child, "c2c")) continue;
    const std::int64_t mb = whole_attribute(child, "bw").value_or(0);
    const std::int64_t count = whole_attribute(child, "count").value_or(0);
    if (mb < 1 || count < 1 || mb > 1'000'000'000 || count > 1000) {
      throw input_error(child.place, fmt::format("a CPU link of {} times {} MB/s", count, mb),
                        "Write bw in MB/s and count, both 1 or more");
    }
    rate = Bandwidth{static_cast<double>(mb) * static_cast<double>(count) * 1e6};
  }
  return rate;
}

}  // namespace shardsim
