#pragma once

#include <memory>
#include <string>
#include <vector>

#include "topology/graph/link.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// A cluster ready for use: ranks, links with their capacities, routes between ranks. All nodes are alike but for
// faults. Rank r lives on node r / ranks_per_node(), GPU r % ranks_per_node().
class Cluster {
 public:
  // Errors (Failure::input): GPUs that are not connected (names two), several nodes without NICs, a fault outside the
  // cluster, a NIC or GPU missing from the PCIe tree.
  explicit Cluster(ClusterSpec spec);

  // The part of the cluster that a job has, at a cost that does not grow with the rest: rank 0 is GPU 0 of nodes[0].
  // Links have the names and rates that they have in the whole, faults included; leaves are those above these nodes,
  // and whole, as the rest of the cluster uses them too. `nodes`: distinct nodes of the spec's.
  Cluster(ClusterSpec spec, const std::vector<int>& nodes);
  // The same link in the cluster that this is a part of; of a whole cluster, the link itself.
  LinkId in_whole(LinkId link) const { return in_whole_.empty() ? link : in_whole_[link]; }

  const ClusterSpec& spec() const { return spec_; }
  // Takes the overheads and the rate of a channel of a spec that is else this cluster's own: no link and no route
  // depends on them.
  void take_overheads(const ClusterSpec& spec);
  int nodes() const { return spec_.nodes; }
  int ranks_per_node() const { return spec_.gpu.count; }
  int world_size() const { return nodes() * ranks_per_node(); }
  int node_of(int rank) const { return rank / ranks_per_node(); }
  int gpu_of(int rank) const { return rank % ranks_per_node(); }
  int leaves() const { return leaves_; }  // of a part: those of the whole cluster
  int leaf_of(int node) const { return leaf_of_node_[node]; }

  const std::vector<Link>& links() const { return links_; }
  // "node0/gpu3/nvlink_out", "node0/nvlink/0-3", "node1/nic2/out", "leaf0/up"; in a part, its name in the whole.
  std::string link_name(LinkId link) const;

  // Between GPUs of one node over NVLink or PCIe; between nodes from NIC to NIC (only the NIC, leaf and, without
  // GPUDirect, PCIe ports are on it). Within a node `relay` rules of the spec apply.
  Route route(int from_rank, int to_rank) const;

  // Route inside a node between local GPUs, link ids of node 0.
  const Route& local_route(int from_gpu, int to_gpu) const { return node_.routes[from_gpu][to_gpu]; }
  // The same link on another node.
  LinkId on_node(LinkId of_node_0, int node) const {
    return of_node_0 + node * static_cast<LinkId>(node_.links.size());
  }

  // NIC ports: NICs, or where each GPU has several of its own, all of them as one port of their summed rate.
  int nics_per_node() const { return static_cast<int>(ports_.nics.size()); }
  const NicPorts& nic_ports() const { return ports_; }
  // Local port index, nearest by path class; -1 without NICs.
  int nic_of(int gpu) const { return ports_.port_of_gpu.empty() ? -1 : ports_.port_of_gpu[gpu]; }
  LinkId nic_out(int node, int nic) const { return on_node(node_.nic_out[nic], node); }
  LinkId nic_in(int node, int nic) const { return on_node(node_.nic_in[nic], node); }
  LinkId leaf_up(int leaf) const;  // above a node that is here; -1 when the fabric never limits
  LinkId leaf_down(int leaf) const;

  // Links that have this rank's GPU or its NIC as an end (leaf links and PCIe trunks on its routes too): its part of a
  // collective ends when they have delivered their loads.
  const std::vector<LinkId>& links_of(int rank) const { return links_of_[rank]; }

  bool has_relays() const { return has_relays_; }  // some GPU pair of a node is NVB
  PathClass path_class(int from_gpu, int to_gpu) const { return local_route(from_gpu, to_gpu).path; }
  double compute_factor(int rank) const;  // 1, or what a fault says
  Bytes memory_per_rank() const;          // HBM less the reserved part

 private:
  // The nodes of a cluster that there are here, and how many it has.
  struct Nodes {
    const std::vector<int>& here;
    int in_all = 0;
  };
  void build(const Nodes& nodes);
  void deal_leaves(const Nodes& nodes);
  void build_node();
  void repeat_node(const Nodes& nodes);
  void add_fabric_links(const Nodes& nodes);
  void number_in_whole(const Nodes& nodes);
  void apply_faults(const Nodes& nodes);
  void apply_fault(const FaultSpec& fault, int node);
  void index_links_by_rank();
  int first_link_of(int leaf) const;
  Route route_between_nodes(int from_rank, int to_rank) const;
  void find_width(Route& route) const;

  ClusterSpec spec_;
  int leaves_ = 1;
  std::vector<int> leaf_of_node_;
  std::vector<int> linked_leaves_;  // that have links here, in order
  std::vector<Link> links_;
  std::vector<LinkId> in_whole_;  // of a part only
  int first_fabric_link_ = -1;    // -1: the fabric never limits
  NicPorts ports_;
  NodeLinks node_;  // of every node, with the ids of node 0
  std::vector<std::vector<LinkId>> links_of_;
  std::vector<double> compute_factor_;  // empty: all 1
  bool has_relays_ = false;
};

}  // namespace shardsim
