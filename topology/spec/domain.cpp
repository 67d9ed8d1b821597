#include "topology/spec/domain.h"

#include <fmt/format.h>

namespace shardsim {
namespace {

// The whole cluster as one domain, where a part of one is meant.
std::string smaller_domain(const ClusterSpec& spec) {
  const std::int64_t ranks = std::int64_t{spec.nodes} * spec.gpu.count;
  return ranks > spec.nvlink.domain ? ""
                                    : fmt::format(", or nvlink.domain: {} beside `nodes`, for a part of one", ranks);
}

void check_size(const ClusterSpec& spec) {
  const int domain = spec.nvlink.domain, count = spec.gpu.count;
  const Place place = spec.places.of("nvlink.domain");
  const std::int64_t ranks = std::int64_t{spec.nodes} * count;
  if (spec.nvlink.kind != NvlinkKind::nvswitch) {
    throw input_error(place, "only GPUs that are connected by an NVSwitch can form a domain over several hosts",
                      "Write kind: switch, or leave domain out");
  }
  const Place& nodes = spec.places.of("nodes");
  if (ranks % domain != 0 && domain % count == 0 && nodes.source != place.source) {  // a base's domain stays as it is
    throw input_error(nodes,
                      fmt::format("{} nodes of {} GPUs do not fill NVLink domains of {} GPUs, which {} states",
                                  spec.nodes, count, domain, place.text()),
                      fmt::format("Write a multiple of {} nodes{}", domain / count, smaller_domain(spec)));
  }
  if (domain > ranks) {
    throw input_error(place, fmt::format("a domain of {} GPUs is larger than the cluster, which has {}", domain, ranks),
                      fmt::format("Write domain: {}, which is all GPUs of the cluster, or more nodes", ranks));
  }
  if (domain % count != 0) {
    throw input_error(place, fmt::format("hosts of {} GPUs do not divide into domains of {}", count, domain),
                      "Write a multiple of gpu.count");
  }
  if (ranks % domain != 0) {
    throw input_error(place, fmt::format("{} GPUs do not divide into domains of {}", ranks, domain),
                      "Write nodes that fill whole domains");
  }
}

// Refuses keys that the file states per host but that would count per domain.
void refuse_per_host(const ClusterSpec& spec, int hosts) {
  if (spec.graph_one_node || spec.graph_multi_node) {
    throw input_error(spec.places.of("graph"), "the channels of NCCL cannot be stated for a domain over several hosts",
                      "Leave graph out: NCCL's search finds them");
  }
  if (spec.fabric.nodes_per_leaf % hosts == 0) return;
  throw input_error(spec.places.of("fabric.nodes_per_leaf"),
                    fmt::format("a leaf of {} hosts cuts through domains of {}", spec.fabric.nodes_per_leaf, hosts),
                    "Write a multiple of the hosts of a domain: all NICs of a domain must be under one leaf");
}

bool is_socket(const std::string& parent) {
  return parent.find_first_not_of("0123456789") == std::string::npos;
}

// The switches of one host once more, for that host of the domain. Those of the first keep their names.
PcieSpec::Switch at_host(PcieSpec::Switch entry, int host, int sockets, int gpus, int nics) {
  const auto name = [&](const std::string& text) { return host == 0 ? text : fmt::format("{}-host{}", text, host); };
  entry.name = name(entry.name);
  entry.parent =
      is_socket(entry.parent) ? std::to_string(std::stoi(entry.parent) + host * sockets) : name(entry.parent);
  for (int& gpu : entry.gpus) gpu += host * gpus;
  for (int& nic : entry.nics) nic += host * nics;
  return entry;
}

}  // namespace

int hosts_per_node(const ClusterSpec& spec) {
  return spec.nvlink.domain == 0 ? 1 : spec.nvlink.domain / spec.gpus_per_host;
}

void join_hosts(ClusterSpec& spec) {
  if (spec.nvlink.domain == spec.gpu.count) spec.nvlink.domain = 0;
  if (spec.nvlink.domain == 0) return;
  check_size(spec);
  const int hosts = spec.nvlink.domain / spec.gpu.count, gpus = spec.gpu.count, nics = nics_of_node(spec);
  refuse_per_host(spec, hosts);
  spec.gpus_per_host = gpus;
  std::vector<PcieSpec::Switch> tree;
  for (int host = 0; host < hosts; ++host) {
    for (const PcieSpec::Switch& entry : spec.pcie.tree)
      tree.push_back(at_host(entry, host, spec.pcie.sockets, gpus, nics));
  }
  spec.pcie.tree = std::move(tree);
  spec.pcie.sockets *= hosts;
  spec.nodes /= hosts;
  spec.gpu.count *= hosts;
  spec.fabric.nodes_per_leaf /= hosts;
  if (spec.nics) spec.nics->per_node *= hosts;
  if (spec.host.memory) spec.host.memory->count *= hosts;
  for (FaultSpec& fault : spec.faults) {
    const int host = fault.node % hosts;
    fault.node /= hosts;
    if (fault.gpu) *fault.gpu += host * gpus;
    if (fault.nic) *fault.nic += host * nics;
  }
}

void part_hosts(ClusterSpec& spec) {
  const int hosts = hosts_per_node(spec);
  if (hosts == 1) return;
  const int gpus = spec.gpus_per_host, nics = nics_of_node(spec) / hosts;
  spec.pcie.tree.resize(spec.pcie.tree.size() / static_cast<std::size_t>(hosts));
  spec.pcie.sockets /= hosts;
  spec.nodes *= hosts;
  spec.gpu.count = gpus;
  spec.fabric.nodes_per_leaf *= hosts;
  if (spec.nics) spec.nics->per_node /= hosts;
  if (spec.host.memory) spec.host.memory->count /= hosts;
  for (FaultSpec& fault : spec.faults) {
    fault.node *= hosts;
    const int host = fault.gpu ? *fault.gpu / gpus : fault.nic ? *fault.nic / nics : 0;
    fault.node += host;
    if (fault.gpu) *fault.gpu -= host * gpus;
    if (fault.nic) *fault.nic -= host * nics;
  }
}

}  // namespace shardsim
