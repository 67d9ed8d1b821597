#include <algorithm>
#include <bit>

#include "models/collective/nccl/cost.h"

namespace shardsim {
namespace {

constexpr double kLlAcrossNodes = 1.8;  // 2.14: hops inside a node, LL over several nodes
constexpr double kPatHopsAtOnce = 3.5;  // tuning.cc: log latency of PAT
constexpr double kPatPerRank = 2.8;     // us, its linear part
constexpr double kSimplePosts = 3;      // network posts per step of Simple

int log2_floor(int number) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(number))) - 1;
}

// One combination, with what its formulas share.
class Latency {
 public:
  Latency(NcclAlgorithm algorithm, NcclProtocol protocol, const NcclSetup& setup)
      : setup_(setup), algorithm_(algorithm), protocol_(protocol) {}

  double of(CollectiveKind kind) const {
    const double far = local_hops();
    switch (algorithm_) {
      case NcclAlgorithm::tree:
        return base() + 2 * (far * intra() + log2_floor(setup_.nodes()) * inter());
      case NcclAlgorithm::ring:
        return base() + (kind == CollectiveKind::broadcast ? chain() : ring(kind));
      case NcclAlgorithm::collnet_direct:
        return base() + 2 * (std::min(1.0, far) * intra() + far * setup_.constants->collnet_direct_rank) + inter();
      case NcclAlgorithm::collnet_chain:
        return base() + 2 * far * intra() + (setup_.old() ? 0 : inter());
      case NcclAlgorithm::nvls:
        return intra() + (setup_.group.across_nodes() ? inter() : 0);
      case NcclAlgorithm::nvls_tree:
        return base() + intra() + 2 * log2_floor(setup_.nodes()) * inter();
      case NcclAlgorithm::pat:
        return base() + log2_floor(setup_.nodes()) * inter() / kPatHopsAtOnce + kPatPerRank * setup_.group.ranks;
    }
    return 0;
  }

 private:
  double of_row(const NcclConstants::ByAlgorithm& table, NcclAlgorithm row) const {
    return table[static_cast<std::size_t>(row)][static_cast<std::size_t>(protocol_)];
  }
  double base() const { return of_row(setup_.constants->base, algorithm_); }
  int local_hops() const { return setup_.group.per_node() - 1; }
  bool over_nvlink() const { return setup_.graphs.intra == PathClass::nvl; }

  double hop_inside(NcclAlgorithm row) const {
    if (over_nvlink()) return of_row(setup_.constants->nvlink_hop, row);
    // NCCL favours trees on POWER this way.
    const bool as_ring = setup_.power && row == NcclAlgorithm::tree && protocol_ == NcclProtocol::simple;
    return of_row(setup_.constants->pci_hop, as_ring ? NcclAlgorithm::ring : row);
  }

  double intra() const {
    const bool slower = setup_.old() && setup_.group.across_nodes() && protocol_ == NcclProtocol::ll;
    return (slower ? kLlAcrossNodes : 1) * hop_inside(algorithm_);
  }

  // Simple pays the NIC twice: its flush.
  double inter() const {
    const double nic = setup_.nic_latency_us;
    if (setup_.old()) return nic > 0 ? nic : of_row(setup_.constants->network_hop, algorithm_);
    const bool exposed = setup_.group.ranks == setup_.nodes();
    const double hop = of_row(setup_.constants->network_hop, exposed ? NcclAlgorithm::tree : algorithm_);
    return hop + nic * (protocol_ == NcclProtocol::simple ? 2 : 1);
  }

  double network_post() const {
    if (setup_.old() || !setup_.group.across_nodes()) return 0;
    return (setup_.amd ? 2 : 1) * (protocol_ == NcclProtocol::simple ? kSimplePosts : 1);
  }

  int steps_between_nodes(CollectiveKind kind) const {
    if (!setup_.group.across_nodes()) return 0;
    if (kind != CollectiveKind::all_reduce) return setup_.nodes() - 1;
    return setup_.old() ? 2 * setup_.nodes() : 2 * (setup_.nodes() - 1);
  }

  double ring(CollectiveKind kind) const {
    const int across = steps_between_nodes(kind);
    const int inside = nccl_steps(kind, setup_.group.ranks) - across;
    return inside * std::max(intra(), network_post()) + across * inter();
  }

  double chain() const {
    const auto hop = [&](NcclAlgorithm row) {
      return setup_.group.across_nodes() ? of_row(setup_.constants->network_hop, row) : hop_inside(row);
    };
    if (setup_.graphs.same_channels) return hop(NcclAlgorithm::ring);
    const bool simple = protocol_ == NcclProtocol::simple;
    return setup_.group.ranks * hop(simple ? NcclAlgorithm::tree : NcclAlgorithm::ring);
  }

  const NcclSetup& setup_;
  NcclAlgorithm algorithm_;
  NcclProtocol protocol_;
};

}  // namespace

double nccl_latency(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol, const NcclSetup& setup) {
  return Latency(algorithm, protocol, setup).of(kind);
}

}  // namespace shardsim
