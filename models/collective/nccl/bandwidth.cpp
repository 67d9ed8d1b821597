#include <algorithm>

#include "models/collective/nccl/cost.h"

namespace shardsim {
namespace {

// Factors of NVIDIA/nccl src/graph/tuning.cc. The code writes .92 and notes 120/128 beside it.
constexpr double kLl128Share = .92;
constexpr double kTreeShare = .92;
constexpr double kTreeLl128OneNode = 7. / 9, kTreeLl128 = 15. / 16;
constexpr double kTreeLl = 1 / 3.8;
constexpr double kPlainTree = .85;
constexpr double kSm80Bus = 235;  // GB/s, 2.14

class BusBandwidth {
 public:
  BusBandwidth(CollectiveKind kind, NcclProtocol protocol, const NcclSetup& setup, int channels, bool carried)
      : setup_(setup),
        constants_(*setup.constants),
        kind_(kind),
        protocol_(protocol),
        channels_(channels),
        carried_(carried) {}

  double of(NcclAlgorithm algorithm) const {
    switch (algorithm) {
      case NcclAlgorithm::tree:
        return tree();
      case NcclAlgorithm::ring:
        return ring();
      case NcclAlgorithm::collnet_direct:
        return collnet_direct();
      case NcclAlgorithm::collnet_chain:
        return bus(true) * (setup_.old() ? .75 : 1);
      case NcclAlgorithm::nvls:
        return nvls(false);
      case NcclAlgorithm::nvls_tree:
        return nvls(true);
      case NcclAlgorithm::pat:
        return bus(false) * .75;
    }
    return 0;
  }

 private:
  const NcclChannels& rings() const {
    const NcclGraphs& graphs = setup_.graphs;
    return carried_ && graphs.carried_ring.count > 0 ? graphs.carried_ring : graphs.ring;
  }
  double column(const NcclConstants::ByGeneration& table) const {
    return table[static_cast<std::size_t>(setup_.generation)][setup_.node_column()];
  }

  double bus(bool collnet) const {
    const double total = rings().total(collnet || setup_.nodes() <= 2);
    return setup_.old() && setup_.capability == 80 ? std::min(total, kSm80Bus) : total;
  }

  // Over several nodes the table's rows stand for CPUs: that of Ampere for AMD, that of Volta for others.
  double ll_max() const {
    if (!setup_.group.across_nodes()) return column(constants_.ll_max);
    return constants_.ll_max[setup_.amd ? 1 : 0][setup_.node_column()];
  }

  double ring() const {
    if (protocol_ == NcclProtocol::ll) return std::min(ll_max(), bus(false) * ring_ll_share());
    if (protocol_ == NcclProtocol::simple) return bus(false);
    const bool alone = setup_.old() && setup_.group.ranks < 2 * setup_.nodes();
    return std::min(bus(false) * (alone ? .7 : kLl128Share), channels_ * column(constants_.ring_ll128));
  }

  double ring_ll_share() const {
    if (!setup_.old()) return .5;
    return setup_.group.across_nodes() || kind_ == CollectiveKind::all_reduce ? 1. / 4 : 1. / 3;
  }

  // With two nodes of one GPU, each is the root of one tree and the leaf of the other, so it sends all bytes once.
  // Trees over more nodes send twice as much, and NCCL reckons with that for any number of nodes.
  bool sends_once() const { return carried_ && setup_.graphs.plain_tree && setup_.nodes() == 2; }

  double tree() const {
    double rate = std::min((sends_once() ? 2 : kTreeShare) * bus(false), rings().count * column(constants_.tree));
    if (protocol_ == NcclProtocol::ll) rate = std::min(rate * kTreeLl, ll_max());
    if (protocol_ == NcclProtocol::ll128)
      rate = std::min(rate * (setup_.group.across_nodes() ? kTreeLl128 : kTreeLl128OneNode),
                      channels_ * column(constants_.tree_ll128));
    return rate * (setup_.graphs.plain_tree && !setup_.old() && !sends_once() ? kPlainTree : 1);
  }

  // Outside all_reduce every GPU needs a NIC of its own.
  double collnet_direct() const {
    const double per_node = static_cast<double>(setup_.group.ranks) / setup_.nodes();
    if (kind_ != CollectiveKind::all_reduce) {
      if (setup_.graphs.nics < per_node) return 0;
      return per_node * std::min(rings().bw_intra, .9 * rings().bw_inter);
    }
    const double gpus_per_channel = per_node / rings().count;
    const double share = gpus_per_channel - (gpus_per_channel - 1) / 2;
    return bus(true) / share * (setup_.capability >= 90 ? .85 : 1);
  }

  double nvls(bool tree) const {
    const NcclChannels& graph = setup_.graphs.nvls;
    if (graph.count < 2) return 0;
    const double per_node = static_cast<double>(setup_.group.ranks) / setup_.nodes();
    const double heads = graph.count;
    const double efficiency = constants_.nvls_efficiency[static_cast<std::size_t>(setup_.generation)];
    // all_reduce pipelines two operations.
    const double operations = kind_ == CollectiveKind::all_reduce ? 2 : (per_node - 1) / per_node;
    // The search gives a channel one speed for NVLinks and NICs alike, which its bytes do not know of: inside a node
    // there is no NIC, and NICs do not slow down NVLinks.
    const double speed = carried_ ? std::max(graph.bw_intra, setup_.graphs.nvls_links) : graph.bw_intra;
    double rate = speed * efficiency * (heads - 1) / heads * operations;
    if (!carried_ || setup_.group.across_nodes())
      rate = std::min(rate, graph.bw_inter * (tree && setup_.nodes() <= 2 ? 2 : 1));
    if (tree) rate = std::min(rate, column(constants_.nvls_tree));
    return heads * rate;
  }

  const NcclSetup& setup_;
  const NcclConstants& constants_;
  CollectiveKind kind_;
  NcclProtocol protocol_;
  int channels_;  // that bound LL128
  bool carried_;  // by the kernels, not as NCCL's search reckons
};

// Ratio of algorithm bandwidth to bus bandwidth. NCCL does not convert all_gather and reduce_scatter by anything but
// rings.
double algorithm_share(CollectiveKind kind, NcclAlgorithm algorithm, int ranks) {
  const double by_steps = static_cast<double>(ranks) / nccl_steps(kind, ranks);
  if (algorithm == NcclAlgorithm::ring) return by_steps;
  if (kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter) return 1;
  return is_nvls(algorithm) ? by_steps : .5;
}

}  // namespace

double nccl_bandwidth(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol, const NcclSetup& setup) {
  return BusBandwidth(kind, protocol, setup, setup.graphs.ring.count, false).of(algorithm) *
         algorithm_share(kind, algorithm, setup.group.ranks);
}

double nccl_carried(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol, const NcclSetup& setup) {
  return BusBandwidth(kind, protocol, setup, setup.graphs.compute_channels, true).of(algorithm) *
         algorithm_share(kind, algorithm, setup.group.ranks);
}

}  // namespace shardsim
