#pragma once

#include <string_view>
#include <vector>

#include "models/collective/nccl/constants.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// NCCL's graph channels: parallel rings (or NVLS heads), each at one speed. GB/s.
struct NcclChannels {
  int count = 0;
  double bw_intra = 0;   // per channel, inside a node
  double bw_inter = 0;   // per channel, through a NIC
  bool crosses = false;  // rings leave a node by another NIC than the one that they came in by
  double total(bool intra) const { return count * (intra ? bw_intra : bw_inter); }
  bool operator==(const NcclChannels&) const = default;
};

// The bandwidths that bound the rings of a group on one of its nodes. GB/s, one direction.
struct RingLimits {
  double widest = 0;           // GPU to NIC path over several nodes, GPU to GPU path on one
  double gpu_total = 0;        // of all NVLinks of a GPU, or its PCIe port if that is more
  std::vector<double> orders;  // of each ring order that shares no link with another; empty: one GPU, nothing binds
  std::vector<double> nics;    // GPU to NIC path of each NIC in use; empty on one node
  // As `orders`, of rings that leave by the NIC of their last GPU, which then sends to no other one (NCCL_CROSS_NIC);
  // empty where they keep their NIC. `only_crossing`: where nothing else is left to the search (NCCL_CROSS_NIC=1).
  std::vector<double> crossing = {};
  bool only_crossing = false;
};

// The channel search of NVIDIA/nccl src/graph/search.cc (ncclTopoCompute) in short: from the first speed of the list
// that fits the widest path, count the channels that fit; go on while the next speed is above .49 of the best; the
// first best channels x speed wins; stop at the GPU's total. Rings that change NICs are tried after the others at each
// speed, in pairs, and taken where they carry more (2.14: 15 % more). Fast channels are then doubled at half speed.
// `count` is 0 when not even the slowest speed fits.
NcclChannels search_channels(const RingLimits& limits, int capability, NcclEra era);

// NVLS: one channel per head (GPU, or NIC in use), each of which loads every GPU's port once and its own once more.
// Only from sm90, and none for fewer than two heads.
NcclChannels nvls_channels(int heads, const RingLimits& limits, int capability, NcclEra era);
// The speed inside a node of such a channel where no NIC bounds the search; 0 where there is none.
double nvls_speed_of_links(int heads, const RingLimits& limits, int capability, NcclEra era);

// The ranks of a communicator by node. All nodes are treated like the one with the fewest ranks, as NCCL keeps the
// fewest channels that any rank found.
struct NcclGroup {
  int ranks = 0;
  int nodes = 0;
  std::vector<int> gpus;  // of one node, local indices, rising
  int per_node() const { return nodes == 0 ? 0 : ranks / nodes; }
  bool across_nodes() const { return nodes > 1; }
};

NcclGroup nccl_group(const std::vector<int>& ranks, const Cluster& cluster);

// Where channels come from: the cluster file; the search of `channels.cpp`, which reproduces the graphs known of the
// usual nodes; or, where that finds nothing, one ring (per NIC, over several nodes) in index order.
enum class GraphSource { stated, reference, fallback };

// All that the cost model asks about the topology of one communicator.
struct NcclGraphs {
  NcclChannels ring;                 // of trees and collnet too
  NcclChannels nvls;                 // none: count 0
  NcclChannels carried_ring;         // the same search with the rates at which bytes move; count 0: as `ring`
  double nvls_links = 0;             // speed of an NVLS channel that the NVLinks alone allow, whatever the NICs
  PathClass intra = PathClass::loc;  // farthest between neighbours of a ring
  PathClass nic = PathClass::loc;    // farthest from a NIC in use to its nearest GPU; loc on one node
  bool same_channels = false;        // every ring has the same order
  bool plain_tree = false;           // all NIC traffic of a tree on one GPU
  int compute_channels = 0;          // as kernels use: each graph channel twice or more
  int nics = 0;                      // in use, per node
  GraphSource source = GraphSource::fallback;
};

// A stated graph holds for groups of whole nodes; a file states none for NVLS, which is always searched.
NcclGraphs nccl_graphs(const NcclGroup& group, const Cluster& cluster);

// Channels that kernels use: each of the graph's twice, and from sm90 on over several nodes twice more while they are
// few (NVIDIA/nccl src/graph/connect.cc, ncclTopoPostset: minCompCap >= 90, so all newer GPUs too).
int kernel_channels(int graph_channels, bool across_nodes, const ClusterSpec& spec);

}  // namespace shardsim
