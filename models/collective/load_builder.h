#pragma once

#include <optional>
#include <vector>

#include "models/collective/channel_layout.h"
#include "models/collective/collective.h"
#include "models/collective/link_sums.h"

namespace shardsim {

// The bytes that one rank exchanges with other nodes.
struct OffNodeBytes {
  double sent = 0, received = 0;
  std::vector<double> to_rails;  // of `sent`, by the destination's NIC; asked for with PXN alone
};

// Sums the bytes that the transfers of one call put on each link, then turns the sums into loads.
class LoadBuilder {
 public:
  // Builds the loads of a call of these ranks, at the efficiencies that such a call reaches.
  LoadBuilder(const std::vector<int>& ranks, const CallShape& call, const Cluster& cluster);

  // At these efficiencies of NICs and of the GPUs' ports.
  LoadBuilder(const std::vector<int>& ranks, const Cluster& cluster, NicShare of_nics, double port_efficiency);

  void add_link(LinkId link, double bytes);
  // Along the route between two ranks of one node; both hops of a relayed pair, evenly over all its relays where the
  // relay rule says so.
  void add_local(int from_rank, int to_rank, double bytes);
  // From NIC to NIC of two nodes.
  void add_across(int from_rank, int to_rank, double bytes);
  // A rank's part of an exchange with other nodes: on NIC ports, with PXN by the GPUs that have the destinations'
  // rails, and on its PCIe port where that shares the way. `node`: the members on its node.
  void add_off_node(int rank, const NodeMembers& node, const OffNodeBytes& bytes);
  void note_latency(Seconds latency);
  // Most bytes per second that the kind may send over a link; kept only when the link's rate does not bind first.
  void cap(LinkId link, double bytes_per_second);

  Seconds largest_latency() const { return largest_latency_; }  // of the routes met
  std::vector<LinkLoad> loads() const;                          // by rising link id, none without bytes
  CollectiveLoads exchange(const CallShape& call) const;        // the loads with the start of an exchange without steps

 private:
  void add_slot(int rank, double out, double in);  // nothing where no route of the node uses PCIe
  void add_links(const Route& local, int node, double bytes);
  void add_host_copies(const Route& local, int node, double bytes);
  double efficiency(const Link& link) const;

  const Cluster& cluster_;
  NicShare of_nics_;
  double port_efficiency_;
  bool relayed_ = false;
  Seconds largest_latency_;
  LinkSums bytes_;
  std::optional<LinkSums> caps_;  // none without caps
  std::optional<LinkSums> host_;  // what copies through host memory take of a link beyond their bytes; none without
};

}  // namespace shardsim
