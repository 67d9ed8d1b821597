#include "models/collective/nccl/cost.h"

#include <bit>

namespace shardsim {
namespace {

constexpr int kCorrected = 23;  // sizes that trees are corrected for; NVLSTree has one more

// floor(log2(bytes / 64)). Below 64 bytes 2.30 corrects nothing, and 2.14 as for 64 bytes.
int size_index(std::int64_t bytes, bool old) {
  const std::int64_t units = bytes / 64;
  if (units == 0) return old ? 0 : -1;
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(units))) - 1;
}

double correction(NcclAlgorithm algorithm, NcclProtocol protocol, CollectiveKind kind, std::int64_t bytes,
                  const NcclSetup& setup) {
  const bool blackwell = setup.generation == NcclGeneration::blackwell && setup.x86;
  const bool corrected = algorithm == NcclAlgorithm::tree || (algorithm == NcclAlgorithm::nvls_tree && blackwell);
  if (kind != CollectiveKind::all_reduce || !corrected) return 1;
  const int index = size_index(bytes, setup.old());
  const int end = algorithm == NcclAlgorithm::tree ? kCorrected : NcclConstants::kCorrections;
  if (index < 0 || index >= end) return 1;
  return setup.constants->tree_correction[static_cast<std::size_t>(protocol)][static_cast<std::size_t>(index)];
}

// Rings of Simple over several nodes: latency rises once the pieces are large.
double plateau(NcclAlgorithm algorithm, NcclProtocol protocol, CollectiveKind kind, std::int64_t bytes,
               const NcclSetup& setup) {
  const bool concerned = algorithm == NcclAlgorithm::ring && protocol == NcclProtocol::simple &&
                         kind == CollectiveKind::all_reduce && setup.group.across_nodes();
  if (!concerned) return 1;
  const auto size = static_cast<double>(bytes);
  if (setup.old()) return size >= setup.group.ranks / 16.0 * 65536 ? 1.9 : 1;
  const std::int64_t pieces = std::int64_t{setup.graphs.compute_channels} * setup.group.ranks;
  if (size / static_cast<double>(pieces) < 64) return 1;
  return setup.capability < 80 ? 1.9 : 1.4;
}

}  // namespace

std::optional<NcclTime> nccl_time_by(NcclAlgorithm algorithm, NcclProtocol protocol, CollectiveKind kind,
                                     std::int64_t bytes, const NcclSetup& setup) {
  if (setup.group.ranks < 2 || !nccl_allows(kind, algorithm, protocol, setup)) return std::nullopt;
  const double corrected = correction(algorithm, protocol, kind, bytes, setup);
  const double rate = nccl_bandwidth(kind, algorithm, protocol, setup) * corrected;
  if (rate <= 0) return std::nullopt;
  NcclTime result;
  result.plateau = plateau(algorithm, protocol, kind, bytes, setup);
  const double latency = nccl_latency(kind, algorithm, protocol, setup) * result.plateau;
  result.latency = {latency * 1e-6};
  result.algorithm_bandwidth = {rate * 1e9};
  result.carried = {nccl_carried(kind, algorithm, protocol, setup) * corrected * 1e9};
  result.time = result.latency + Bytes{bytes} / result.algorithm_bandwidth;
  result.algorithm = algorithm;
  result.protocol = protocol;
  result.channels = nccl_channels(algorithm, setup).count;
  return result;
}

NcclTime nccl_time(CollectiveKind kind, std::int64_t bytes, const NcclSetup& setup) {
  std::optional<NcclTime> best;
  if (bytes <= 0) return {};
  for (NcclAlgorithm algorithm : kNcclAlgorithms) {
    for (NcclProtocol protocol : kNcclProtocols) {
      const auto time = nccl_time_by(algorithm, protocol, kind, bytes, setup);
      if (time && (!best || time->time < best->time)) best = time;
    }
  }
  return best.value_or(NcclTime{});
}

NcclSetup nccl_setup(const std::vector<int>& ranks, const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  NcclSetup setup;
  setup.constants = &nccl_constants(spec.nccl);
  setup.capability = capability_number(spec.gpu.compute_capability);
  setup.generation = nccl_generation(setup.capability, setup.constants->era);
  setup.group = nccl_group(ranks, cluster);
  setup.graphs = nccl_graphs(setup.group, cluster);
  setup.nvswitch = spec.nvlink.kind == NvlinkKind::nvswitch;
  setup.amd = spec.pcie.cpu_vendor == "amd";
  setup.x86 = setup.amd || spec.pcie.cpu_vendor == "intel";
  setup.forced = spec.forced;
  setup.power = spec.pcie.cpu_vendor == "power";
  return setup;
}

}  // namespace shardsim
