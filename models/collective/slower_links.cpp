#include "models/collective/slower_links.h"

#include <fmt/format.h>

#include <array>

#include "models/collective/collective_kind.h"
#include "models/collective/nccl/cost.h"

namespace shardsim {
namespace {

constexpr double kTellingGain = 0.01;  // of the time of the call
constexpr std::array kParts = {0.5, 0.25};
constexpr int kOldestPcie = 3;

std::string instead(std::string_view links, Bandwidth slower, Bandwidth own) {
  return fmt::format("{} of {} instead of {}", links, to_text(slower), to_text(own));
}

// "1 channel of 12 GB/s".
std::string channels_text(const CollectiveCall& call, const Cluster& cluster) {
  const NcclChannels rings = nccl_setup(call.ranks, cluster).graphs.ring;
  return fmt::format("{} channel{} of {:.3g} GB/s{}", rings.count, rings.count == 1 ? "" : "s", rings.bw_inter,
                     rings.crosses ? " whose rings change NICs" : "");
}

std::string choice_text(const CollectiveLoads& loads) {
  return loads.protocol.empty() ? loads.algorithm : loads.algorithm + " with " + loads.protocol;
}

// Says which channels NCCL finds, or which algorithms it chooses, on the two clusters.
std::string reason_text(const CollectiveCall& call, const Cluster& here, const CollectiveLoads& of_here,
                        const Cluster& there, const CollectiveLoads& of_there) {
  const std::string own = channels_text(call, here), other = channels_text(call, there);
  const bool same_choice = choice_text(of_here) == choice_text(of_there);
  if (own == other)
    return fmt::format("NCCL chooses {} here, and {} there, by its own estimate", choice_text(of_here),
                       choice_text(of_there));
  return fmt::format("NCCL's search finds {} here, and {} there{}", own, other,
                     same_choice ? "" : fmt::format(" ({}, and {})", choice_text(of_here), choice_text(of_there)));
}

}  // namespace

SlowerLinks::SlowerLinks(const Cluster& cluster) : cluster_(cluster) {
  const ClusterSpec& own = cluster.spec();
  if (own.device == "cpu") return;
  for (const double part : kParts) {
    if (!own.nics || own.nodes < 2) break;
    ClusterSpec spec = own;
    spec.nics->rate = part * spec.nics->rate;
    slower_.push_back({instead("NICs", spec.nics->rate, own.nics->rate), Cluster(spec)});
  }
  for (const double part : kParts) {
    if (own.nvlink.kind == NvlinkKind::none) break;
    ClusterSpec spec = own;
    spec.nvlink.per_link = part * spec.nvlink.per_link;
    spec.nvlink.per_link_effective = part * spec.nvlink.per_link_effective;
    slower_.push_back({instead("NVLinks", spec.nvlink.per_link, own.nvlink.per_link), Cluster(spec)});
  }
  if (own.pcie.generation <= kOldestPcie) return;
  ClusterSpec spec = own;
  spec.pcie.generation -= 1;
  slower_.push_back(
      {fmt::format("PCIe {}.0 instead of {}.0", spec.pcie.generation, own.pcie.generation), Cluster(spec)});
}

std::string SlowerLinks::better_for(const CollectiveCall& call, const std::string& name,
                                    std::string_view algorithm) const {
  if (is_peer_to_peer(call.kind) || call.ranks.size() < 2 || call.bytes <= 0) return "";
  const CollectiveLoads here = expand_collective(call, cluster_, algorithm);
  const Slower* best = nullptr;
  CollectiveLoads of_best;
  Seconds least = (1 - kTellingGain) * here.alone(cluster_);
  for (const Slower& slower : slower_) {
    CollectiveLoads there = expand_collective(call, slower.cluster, algorithm);
    const Seconds time = there.alone(slower.cluster);
    if (time >= least) continue;
    least = time;
    best = &slower;
    of_best = std::move(there);
  }
  if (best == nullptr) return "";
  return fmt::format(
      "{} takes {} alone, and would take {} with {}: {}. If NCCL's own log shows other channels, state "
      "them in the cluster's 'graph'.",
      name, to_text(here.alone(cluster_)), to_text(least), best->links,
      reason_text(call, cluster_, here, best->cluster, of_best));
}

}  // namespace shardsim
