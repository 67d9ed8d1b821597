#pragma once

#include <optional>
#include <vector>

#include "models/collective/channel_layout.h"
#include "models/collective/collective.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// One number for each link that a group of ranks can load: the links of all nodes from the group's first to its last
// one, and, if these are several nodes, the links of the fabric. A group inside a node so takes memory for the links of
// that node alone, and all such groups of a cluster together take as much as one group of all ranks. `cluster` outlives
// it.
class LinkSums {
 public:
  LinkSums(const std::vector<int>& ranks, const Cluster& cluster);

  LinkSums zeros() const;  // of the same links

  double& operator[](LinkId link) { return values_[place(link)]; }
  double operator[](LinkId link) const { return values_[place(link)]; }

  // visit(link, number) for all, by rising link id.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto at = static_cast<LinkId>(i);
      visit(at < of_nodes_ ? first_ + at : fabric_ + at - of_nodes_, values_[i]);
    }
  }

 private:
  std::size_t place(LinkId link) const {
    return static_cast<std::size_t>(link < fabric_ ? link - first_ : of_nodes_ + link - fabric_);
  }

  LinkId first_ = 0;   // of the first node
  int of_nodes_ = 0;   // links of the nodes
  LinkId fabric_ = 0;  // the first link that belongs to no node
  std::vector<double> values_;
};

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
  void add_off_node(int rank, const RailSenders& node, const OffNodeBytes& bytes);
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
