#include "accuracy/measurements/switched_off.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "topology/spec/domain.h"

namespace shardsim {
namespace {

// EFA, Slingshot and the like are reached through plugins, which the variable of InfiniBand does not switch off.
bool needs_infiniband(const NicSpec& nics) {
  return nics.transport == "infiniband" || nics.transport == "roce";
}

bool needs_sockets(const NicSpec& nics) {
  return nics.transport == "tcp";
}

// The NICs that some GPUs of a node use: of those that GPUs share, the last may have fewer of them.
int nics_used(const NicSpec& nics, int gpus) {
  return nics.of_node(gpus + std::max(0, nics.shared_by - 1));
}

// A log names the NICs of a host, and a node of the cluster may join several hosts.
std::string off_nics(const MeasuredRow& row, const ClusterSpec& spec) {
  const SwitchedOff& off = row.switched_off;
  if (off.other_nics.empty() || !needs_infiniband(*spec.nics)) return "";
  const int on_host = spec.gpus_per_host > 0 ? std::min(row.gpus_per_node, spec.gpus_per_host) : row.gpus_per_node;
  const int used = nics_used(*spec.nics, on_host);
  if (off.nics_left >= used) return "";
  return fmt::format("{}, so its hosts exchanged over {} of the {} NICs that the cluster has for these GPUs",
                     off.other_nics, off.nics_left, used);
}

std::string off_domain(const MeasuredRow& row, const ClusterSpec& spec) {
  if (row.switched_off.nvlinks_of_hosts.empty() || hosts_per_node(spec) < 2 || row.gpus_per_node <= spec.gpus_per_host)
    return "";
  return fmt::format("{}, so its hosts exchanged over NICs, and a node of the cluster joins {} hosts by NVLink",
                     row.switched_off.nvlinks_of_hosts, hosts_per_node(spec));
}

std::string off_in_node(const SwitchedOff& off, const ClusterSpec& spec) {
  const bool has_direct = spec.nvlink.kind != NvlinkKind::none || spec.pcie.p2p;
  if (!off.peer_to_peer.empty() && has_direct)
    return fmt::format("{}, so its GPUs did not copy directly, as those of the cluster do", off.peer_to_peer);
  if (!off.direct_copies.empty() && !has_direct)
    return fmt::format("its GPUs copied directly ({}), and those of the cluster do not (pcie.p2p: false)",
                       off.direct_copies);
  // GPUs on one switch never meet in the memory of the host.
  if (!off.shared_memory.empty() && spec.nvlink.kind != NvlinkKind::nvswitch)
    return fmt::format("{}, so GPUs that do not copy directly met over the NICs", off.shared_memory);
  return "";
}

// The transports that a network is of, as NCCL calls it in "Using network ...": plugins have names of their own. None
// where the name is not known.
std::vector<std::string_view> transports_of(std::string_view network) {
  const auto begins = [&](std::string_view beginning) { return network.starts_with(beginning); };
  if (begins("IB") || begins("gIB") || begins("UCX")) return {"infiniband", "roce"};
  if (begins("AWS") || begins("Libfabric") || begins("OFI")) return {"efa", "slingshot"};
  if (begins("GPUDirectTCPX") || begins("FasTrak")) return {"tcpx"};
  return {};
}

// Sockets are told apart before, with what switched the other networks off.
std::string other_network(const SwitchedOff& off, const NicSpec& nics) {
  const std::vector<std::string_view> transports = transports_of(off.network);
  if (transports.empty() || std::ranges::find(transports, nics.transport) != transports.end()) return "";
  return fmt::format("Using network {}, and the transport of the cluster is {}", off.network, nics.transport);
}

std::string off_across(const SwitchedOff& off, const NicSpec& nics) {
  const bool lost_infiniband = !off.infiniband.empty() && needs_infiniband(nics);
  if (lost_infiniband || (!off.all_but_sockets.empty() && !needs_sockets(nics)))
    return fmt::format("{}, so its nodes exchanged over sockets, and the transport of the cluster is {}",
                       lost_infiniband ? off.infiniband : off.all_but_sockets, nics.transport);
  if (const std::string other = other_network(off, nics); !other.empty()) return other;
  if (!off.gpudirect.empty() && nics.gpudirect)
    return fmt::format("{}, so its NICs did not reach the GPUs directly, as those of the cluster do", off.gpudirect);
  return "";
}

}  // namespace

std::string switched_off(const MeasuredRow& row, const ClusterSpec& spec) {
  std::string why;
  if (row.gpus_per_node > 1) why = off_in_node(row.switched_off, spec);
  if (why.empty()) why = off_domain(row, spec);
  if (why.empty() && row.nodes > 1 && spec.nics) why = off_across(row.switched_off, *spec.nics);
  if (why.empty() && row.nodes > 1 && spec.nics) why = off_nics(row, spec);
  return why;
}

}  // namespace shardsim
