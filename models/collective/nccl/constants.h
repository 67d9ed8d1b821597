#pragma once

#include <array>
#include <span>
#include <string_view>

#include "models/collective/collective_kind.h"

namespace shardsim {

// The numbers of NCCL's cost model, as NVIDIA/nccl src/graph/tuning.cc and src/graph/search.cc hold them. Times are in
// microseconds and rates in GB/s (10^9 bytes/s), as there.

enum class NcclAlgorithm { tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat };
// NVSwitches reduce and multicast for it.
constexpr bool is_nvls(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree;
}
enum class NcclProtocol { ll, ll128, simple };

inline constexpr std::array kNcclAlgorithms = {NcclAlgorithm::tree,
                                               NcclAlgorithm::ring,
                                               NcclAlgorithm::collnet_direct,
                                               NcclAlgorithm::collnet_chain,
                                               NcclAlgorithm::nvls,
                                               NcclAlgorithm::nvls_tree,
                                               NcclAlgorithm::pat};
inline constexpr std::array kNcclProtocols = {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple};

std::string_view nccl_algorithm_name(NcclAlgorithm algorithm);
std::string_view nccl_protocol_name(NcclProtocol protocol);

// Columns of the per-generation tables.
enum class NcclGeneration { volta, ampere, hopper, blackwell };

enum class NcclEra { v2_14, v2_30 };

struct NcclConstants {
  using ByProtocol = std::array<double, kNcclProtocols.size()>;
  using ByAlgorithm = std::array<ByProtocol, kNcclAlgorithms.size()>;
  using ByNodes = std::array<double, 3>;        // 1, 2, more nodes
  using ByGeneration = std::array<ByNodes, 4>;  // by NcclGeneration
  static constexpr int kCorrections = 24;       // of trees, for 2^(6+i) to 2^(7+i) bytes
  using Correction = std::array<double, kCorrections>;

  NcclEra era = NcclEra::v2_30;
  ByAlgorithm base, nvlink_hop, pci_hop, network_hop;  // us
  // GB/s: of all channels together for LL, per channel for the others.
  ByGeneration ll_max, ring_ll128, tree_ll128, tree, nvls_tree;
  std::array<Correction, kNcclProtocols.size()> tree_correction;
  std::array<double, 4> nvls_efficiency;
  double collnet_direct_rank = 0;  // us per further rank of a node
};

// `version` is the cluster key `nccl`: "2.14" (v2.14.3-1), anything else the newest set (2.30.7, commit 5067397c).
const NcclConstants& nccl_constants(std::string_view version);

// 80 for "8.0" and so on. The set of 2.14 knows Ampere only as exactly 80, and nothing newer.
NcclGeneration nccl_generation(int capability, NcclEra era);

// Speeds per channel that the channel search tries, falling.
std::span<const double> nccl_speeds(int capability, NcclEra era, bool across_nodes);

}  // namespace shardsim
