#include <algorithm>
#include <bit>
#include <cmath>

#include "models/collective/channel_layout.h"
#include "models/collective/nccl/graph.h"

namespace shardsim {
namespace {

constexpr double kChannelNetRate = 14e9;  // bytes/s that NCCL assumes of one channel (NCCL_P2P_PER_CHANNEL_NET_BW)
constexpr int kPeersPerChannelRound = 8;

int power_of_two_from(int number) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(1, number))));
}

// By the NICs from 2.19 on.
int by_nic(const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  if (!spec.nics || nccl_constants(spec.nccl).era == NcclEra::v2_14) return 2;
  const int per_rate = static_cast<int>(std::ceil(spec.nics->rate.bytes_per_second / kChannelNetRate));
  return std::max(std::max(1, spec.nics->per_gpu), std::min(per_rate, 64));
}

// Twice the NVLinks of the thinnest pair of GPUs in a node; 2 over PCIe.
int inside_node(const Cluster& cluster) {
  const NvlinkSpec& nvlink = cluster.spec().nvlink;
  if (nvlink.kind == NvlinkKind::nvswitch) return 2 * std::max(1, nvlink.links_per_gpu);
  if (nvlink.kind == NvlinkKind::none) return 2;
  double thinnest = nvlink.links_per_gpu;
  for (int a = 0; a < cluster.ranks_per_node(); ++a)
    for (int b = 0; b < cluster.ranks_per_node(); ++b)
      if (a != b)
        thinnest = std::min(
            thinnest, cluster.local_route(a, b).width.bytes_per_second / nvlink.per_link_effective.bytes_per_second);
  return 2 * std::max(1, static_cast<int>(std::lround(thinnest)));
}

// All channels of the communicator.
int channel_pool(const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  const auto& graph = spec.graph_multi_node;
  const int stated = graph && graph->channels > 0 ? graph->channels : cluster.nics_per_node();
  return power_of_two_from(kernel_channels(std::clamp(stated, 1, 64), true, spec));
}

// All channels of a communicator on one node whose GPUs an NVSwitch joins: its graph has one per NVLink.
int channel_pool_of_switch(const ClusterSpec& spec) {
  constexpr int kBlackwell = 100;
  // MAXCHANNELS of src/include/device.h, which is 64 since NCCL knows Blackwell; Hopper's graphs have at most 32.
  const int most = capability_number(spec.gpu.compute_capability) >= kBlackwell ? 64 : 32;
  const auto& graph = spec.graph_one_node;
  const int found = graph && graph->channels > 0 ? graph->channels : std::max(1, spec.nvlink.links_per_gpu);
  return power_of_two_from(std::min(most, kernel_channels(found, false, spec)));
}

}  // namespace

int channels_of_send(std::int64_t bytes, int ranks, const ClusterSpec& spec) {
  constexpr std::int64_t kMostOfChannel = 16 * kMiB;  // 32 steps of a buffer of 4 MiB with 8 steps
  const int pool = channel_pool_of_switch(spec);
  const int most = spec.p2p.channels_per_peer > 0 ? spec.p2p.channels_per_peer : pool;
  int channels = most;
  while (channels > 1 && channels * ranks > pool) channels /= 2;
  while (2 * channels <= most && bytes > channels * kMostOfChannel) channels *= 2;
  return channels;
}

std::optional<Bandwidth> channel_rate_of(const CallShape& shape, const Cluster& cluster) {
  const bool by_switch = cluster.spec().nvlink.kind == NvlinkKind::nvswitch && !shape.group.across_nodes();
  return by_switch ? overhead_of(shape, cluster).channel_rate : std::nullopt;
}

int channels_per_remote_peer(const GroupShape& shape, const Cluster& cluster) {
  const int stated = cluster.spec().p2p.channels_per_peer;
  if (stated > 0) return stated;
  int per_peer = by_nic(cluster);
  if (shape.max_per_node > 1) per_peer = std::min(per_peer, inside_node(cluster));
  per_peer = power_of_two_from(per_peer);
  const int rounds = (shape.members + kPeersPerChannelRound - 1) / kPeersPerChannelRound;
  while (per_peer > 1 && per_peer * rounds > channel_pool(cluster)) per_peer /= 2;
  return per_peer;
}

Bandwidth remote_pair_rate(const GroupShape& shape, const Cluster& cluster) {
  return static_cast<double>(channels_per_remote_peer(shape, cluster)) * cluster.spec().p2p.channel_rate;
}

RailSenders::RailSenders(const NodeMembers& node, const Cluster& cluster)
    : node_(node), cluster_(cluster), first_(static_cast<std::size_t>(cluster.nics_per_node()), -1) {
  for (const int rank : node.ranks) {
    int& first = first_[static_cast<std::size_t>(cluster.nic_of(cluster.gpu_of(rank)))];
    if (first < 0) first = rank;
  }
}

int RailSenders::of(int rank, int rail) const {
  const int gpu = cluster_.gpu_of(rank), first = first_[static_cast<std::size_t>(rail)];
  if (first < 0 || cluster_.nic_of(gpu) == rail) return rank;
  const auto on_nvlink = [&](int other) { return cluster_.path_class(gpu, cluster_.gpu_of(other)) == PathClass::nvl; };
  if (on_nvlink(first)) return first;
  for (const int other : node_.ranks)
    if (cluster_.nic_of(cluster_.gpu_of(other)) == rail && on_nvlink(other)) return other;
  return rank;
}

bool uses_pxn(const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  return spec.nics && spec.nics->gpudirect && spec.p2p.pxn.value_or(spec.nvlink.kind != NvlinkKind::none);
}

}  // namespace shardsim
