#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

void check_range(int index, int end, const std::string& what, const Place& place) {
  if (index >= 0 && index < end) return;
  throw input_error(place, fmt::format("a fault on {} {}, but there are {}", what, index, end), "Indices count from 0");
}

void check_fault(const ClusterSpec& spec, const FaultSpec& fault, const Place& place) {
  check_range(fault.node, spec.nodes, "node", place);
  if (fault.gpu) check_range(*fault.gpu, spec.gpu.count, "GPU", place);
  if (fault.nic) check_range(*fault.nic, nics_of_node(spec), "NIC", place);
  if (fault.gpu && fault.rate_factor != 1 && spec.nvlink.kind == NvlinkKind::none) {
    throw input_error(place, fmt::format("GPU {} has no NVLink ports to slow down", *fault.gpu),
                      "Name a nic, or use compute_factor");
  }
}

bool is_under_switch(const ClusterSpec& spec, int index, std::vector<int> PcieSpec::Switch::*devices) {
  return std::ranges::any_of(spec.pcie.tree, [&](const PcieSpec::Switch& entry) {
    return std::ranges::find(entry.*devices, index) != (entry.*devices).end();
  });
}

// A tree of a base may not fit devices that the file on top of it states: then these are at fault.
[[noreturn]] void refuse_absent(const ClusterSpec& spec, const std::string& device, const std::string& key,
                                const std::string& remedy) {
  const Place tree = spec.places.of("pcie.tree"), stated = spec.places.of(key);
  if (stated.source == tree.source) throw input_error(tree, device + " is not in the PCIe tree", remedy);
  throw input_error(stated, fmt::format("{} is not in the PCIe tree, which {} states", device, tree.text()),
                    fmt::format("Write pcie: {{tree: [...]}} beside `{}`: that tree once more. {}", key, remedy));
}

// Every GPU and NIC of a node is under a switch.
void check_tree(const ClusterSpec& spec) {
  for (int gpu = 0; gpu < spec.gpu.count; ++gpu) {
    if (!is_under_switch(spec, gpu, &PcieSpec::Switch::gpus))
      refuse_absent(spec, fmt::format("GPU {}", gpu), "gpu.count", "Name every GPU under one switch");
  }
  const int nics = nics_of_node(spec);
  for (int nic = 0; nic < nics; ++nic) {
    if (!is_under_switch(spec, nic, &PcieSpec::Switch::nics))
      refuse_absent(spec, fmt::format("NIC {} of {}", nic, nics), "nics",
                    fmt::format("Name every NIC under one switch, as many as `nics` says, such as nics: [{}]", nic));
  }
}

// Several faults on one thing multiply.
void check_together(const ClusterSpec& spec) {
  constexpr double kLeast = 1e-6;
  std::map<std::tuple<int, std::optional<int>, std::optional<int>>, std::pair<double, double>> left;
  for (std::size_t i = 0; i < spec.faults.size(); ++i) {
    const FaultSpec& fault = spec.faults[i];
    auto& [rate, compute] = left.try_emplace({fault.node, fault.gpu, fault.nic}, 1, 1).first->second;
    rate *= fault.rate_factor;
    compute *= fault.compute_factor;
    if (std::min(rate, compute) >= kLeast) continue;
    throw input_error(
        spec.places.of(fmt::format("faults.{}", i)),
        "together with this fault, the faults on the same GPU or NIC leave less than a millionth of its rate",
        "Faults on the same GPU or NIC multiply: state one for each");
  }
}

// A value that a file states for the links or the chip that it has: it does not follow when one of those is changed.
struct Derived {
  std::string path;
  std::vector<std::string> origins;
  std::string remedy;
};

std::vector<Derived> derived_values() {
  const std::vector<std::string> node = {
      "gpu.count",    "gpu.compute_capability",    "nvlink.kind",  "nvlink.links_per_gpu",
      "nvlink.links", "nvlink.per_link_effective", "nvlink.relay", "nvlink.per_link",
      "pcie.lanes",   "pcie.generation",           "pcie.tree",    "pcie.p2p",
  };
  std::vector<std::string> nodes = node;
  for (const char* key : {"rate", "per_gpu", "shared_by", "per_node", "gpudirect"})
    nodes.push_back(std::string("nics.") + key);
  const auto channels = [](const std::string& key) {
    return fmt::format("Set graph.{0} too, or write graph.{0}=search to use what NCCL's search finds", key);
  };
  return {{"graph.one_node", node, channels("one_node")},
          {"graph.multi_node", nodes, channels("multi_node")},
          {"nvlink.per_link_effective", {"nvlink.per_link"}, "Set nvlink.per_link_effective: all traffic uses it"},
          {"gpu.copy_bandwidth", {"gpu.hbm_bandwidth"}, "Set gpu.copy_bandwidth: memory traffic runs at it"}};
}

// The value at "MAP.KEY", or null.
const Tree* value_at(const Tree& cluster, const std::string& path) {
  const auto dot = path.find('.');
  const Tree* const map = cluster.find(path.substr(0, dot));
  return map == nullptr ? nullptr : map->find(path.substr(dot + 1));
}

bool is_search(const Tree& value) {
  return value.kind == Tree::Kind::scalar && value.scalar == "search";
}

}  // namespace

void check_derived(const Tree& cluster) {
  for (const Derived& derived : derived_values()) {
    const Tree* const stated = value_at(cluster, derived.path);
    if (stated == nullptr || is_search(*stated)) continue;
    for (const std::string& path : derived.origins) {
      const Tree* const origin = value_at(cluster, path);
      if (origin == nullptr || top_layer(*origin) <= top_layer(*stated)) continue;
      throw input_error(origin->place,
                        fmt::format("{} is changed, but {} was stated for its old value ({})", path, derived.path,
                                    stated->place.text()),
                        derived.remedy);
    }
  }
}

void check_spec(const ClusterSpec& spec) {
  if (!spec.pcie.is_tree_short) check_tree(spec);
  if (spec.nics && spec.nics->shared_by > 0 && spec.gpu.count % spec.nics->shared_by != 0) {
    throw input_error(spec.places.of("nics.shared_by"),
                      fmt::format("{} GPUs cannot be divided into groups of {} that share a NIC", spec.gpu.count,
                                  spec.nics->shared_by),
                      "Write a divisor of gpu.count");
  }
  if (spec.fabric.sharp && spec.nics && spec.nics->transport != "infiniband") {
    throw input_error(
        spec.places.of("fabric.sharp"),
        fmt::format("only InfiniBand switches have SHARP, and the transport of the NICs is {}", spec.nics->transport),
        "Write sharp: false");
  }
  const std::int64_t ranks = std::int64_t{spec.nodes} * spec.gpu.count;
  if (ranks > kMostRanks) {
    throw input_error(
        spec.places.of("nodes"),
        fmt::format("{} nodes of {} GPUs are {} ranks, over {}", spec.nodes, spec.gpu.count, ranks, kMostRanks),
        "Simulate fewer nodes");
  }
  for (std::size_t i = 0; i < spec.faults.size(); ++i) {
    check_fault(spec, spec.faults[i], spec.places.of(fmt::format("faults.{}", i)));
  }
  check_together(spec);
}

void check_runnable(const ClusterSpec& spec) {
  if (spec.nodes == 1 || spec.nics) return;
  throw input_error(spec.places.of("nodes"), fmt::format("{} nodes but no NICs between them", spec.nodes),
                    spec.pcie.is_tree_short
                        ? "Add `nics`, or set nodes: 1"
                        : "Add `nics`, and the numbers of those of a node under the switches of pcie.tree, or set "
                          "nodes: 1");
}

}  // namespace shardsim
