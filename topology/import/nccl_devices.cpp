#include <fmt/format.h>

#include <algorithm>

#include "topology/import/nccl_elements.h"

namespace shardsim {
namespace {

// NCCL tells Intel's generations by the model id (NVIDIA/nccl src/graph/topo.cc).
std::string intel_model(std::int64_t id) {
  if (id >= 0xcf) return "Emerald Rapids";
  if (id >= 0x8f) return "Sapphire Rapids";
  return id >= 0x55 ? "Skylake" : "Broadwell";
}

}  // namespace

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

void name_cpu(const XmlElement& cpu, NodeInventory& node) {
  const std::string* arch = cpu.attribute("arch");
  const std::string* vendor = cpu.attribute("vendor");
  const std::int64_t model = whole_attribute(cpu, "modelid").value_or(-1);
  if (arch != nullptr && *arch == "arm64") node.cpu_vendor = "arm";
  if (arch != nullptr && *arch == "ppc64") node.cpu_vendor = "power";
  if (vendor == nullptr || !node.cpu_vendor.empty()) return;
  if (*vendor == "AuthenticAMD") node.cpu_vendor = "amd";
  if (*vendor == "GenuineIntel") {
    node.cpu_vendor = "intel";
    if (model >= 0) node.cpu_model = intel_model(model);
  }
  if (*vendor == "CentaurHauls" || *vendor == "  Shanghai  ") {
    node.cpu_vendor = "intel";
    node.cpu_model = "Zhaoxin";
    node.cpu_link = Bandwidth{model == 91 ? 9e9 : 6e9};
  }
}

std::string transport_of(const std::string& name, std::uint64_t pci_class) {
  const auto starts = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (starts("rdmap") || starts("efa")) return "efa";
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
