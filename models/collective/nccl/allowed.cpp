#include <algorithm>

#include "models/collective/nccl/cost.h"

namespace shardsim {
namespace {

// 2.14 has no NVLS and no PAT, and uses rings alone outside all_reduce.
bool kind_has(CollectiveKind kind, NcclAlgorithm algorithm, NcclEra era) {
  if (algorithm == NcclAlgorithm::ring) return true;
  if (kind == CollectiveKind::broadcast) return false;
  const bool newer = is_nvls(algorithm) || algorithm == NcclAlgorithm::pat;
  if (era == NcclEra::v2_14) return kind == CollectiveKind::all_reduce && !newer;
  if (kind == CollectiveKind::all_reduce) return algorithm != NcclAlgorithm::pat;
  return algorithm == NcclAlgorithm::pat || algorithm == NcclAlgorithm::nvls ||
         algorithm == NcclAlgorithm::collnet_direct;
}

bool machine_has(NcclAlgorithm algorithm, const NcclSetup& setup) {
  const bool across = setup.group.across_nodes();
  switch (algorithm) {
    case NcclAlgorithm::tree:
    case NcclAlgorithm::ring:
      return true;
    case NcclAlgorithm::collnet_direct:
      return setup.collnet && across && setup.nvswitch;
    case NcclAlgorithm::collnet_chain:
      return setup.collnet && across;
    case NcclAlgorithm::nvls:
      return setup.graphs.nvls.count >= 2 && (!across || setup.collnet);
    case NcclAlgorithm::nvls_tree:
      return setup.graphs.nvls.count >= 2 && across;
    case NcclAlgorithm::pat:
      return setup.capability >= 60 && across && setup.group.ranks == setup.nodes();
  }
  return false;
}

// From sm90 on NICs may be reached through another GPU too, which is nearer than a host bridge. Left out: the one
// toolkit (CUDA 11.8) that turns LL128 off for two sm90 ranks.
bool has_ll128(const NcclSetup& setup) {
  const NcclGraphs& graphs = setup.graphs;
  if (graphs.nic > PathClass::pxb) return false;
  if (setup.old()) return graphs.intra <= PathClass::nvl && (setup.capability == 70 || setup.capability == 80);
  return graphs.intra <= PathClass::nvb && setup.capability >= 70;
}

}  // namespace

namespace {

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
}

// Tells whether NCCL's own rules let the algorithm run, whatever the environment says.
bool can_run(CollectiveKind kind, NcclAlgorithm algorithm, const NcclSetup& setup) {
  if (is_nvls(algorithm) && reduces(kind) && !setup.nvls_reduces) return false;
  return kind_has(kind, algorithm, setup.constants->era) && machine_has(algorithm, setup);
}

// A collective that none of the forced algorithms can do runs rings (tuning.cc never disables their last resort).
bool is_left(CollectiveKind kind, NcclAlgorithm algorithm, const NcclSetup& setup) {
  const std::string& list = setup.forced.algorithm;
  if (list.empty() || leaves(list, nccl_algorithm_name(algorithm))) return true;
  return algorithm == NcclAlgorithm::ring && std::ranges::none_of(kNcclAlgorithms, [&](NcclAlgorithm other) {
           return leaves(list, nccl_algorithm_name(other)) && can_run(kind, other, setup);
         });
}

}  // namespace

bool nccl_allows(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol, const NcclSetup& setup) {
  if (!can_run(kind, algorithm, setup) || !is_left(kind, algorithm, setup)) return false;
  const bool simple_only = algorithm != NcclAlgorithm::tree && algorithm != NcclAlgorithm::ring;
  if (simple_only) return protocol == NcclProtocol::simple;
  const std::string& list = setup.forced.protocol;
  if (!leaves(list, nccl_protocol_name(protocol))) return false;
  // NCCL_PROTO=LL128 runs it where NCCL would not by itself.
  return protocol != NcclProtocol::ll128 || has_ll128(setup) || names(list, nccl_protocol_name(protocol));
}

const NcclChannels& nccl_channels(NcclAlgorithm algorithm, const NcclSetup& setup) {
  return is_nvls(algorithm) ? setup.graphs.nvls : setup.graphs.ring;
}

int nccl_steps(CollectiveKind kind, int ranks) {
  if (kind == CollectiveKind::broadcast) return ranks;
  return kind == CollectiveKind::all_reduce ? 2 * (ranks - 1) : ranks - 1;
}

}  // namespace shardsim
