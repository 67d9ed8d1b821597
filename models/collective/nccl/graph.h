#pragma once

#include <string_view>
#include <vector>

#include "models/collective/nccl/channels.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// How a communicator lies on the cluster. Nodes count as alike: like the one with the fewest ranks, as NCCL keeps the
// fewest channels that any rank found.
struct NcclGroup {
  int ranks = 0;
  int nodes = 0;
  std::vector<int> gpus;  // of one node, local indices, rising
  int per_node() const { return nodes == 0 ? 0 : ranks / nodes; }
  bool across_nodes() const { return nodes > 1; }
};

NcclGroup nccl_group(const std::vector<int>& ranks, const Cluster& cluster);

// Where channels come from: the cluster file; the search of `channels.h`, which reproduces the graphs known of the
// usual nodes; or, where that finds nothing, one ring (per NIC, over several nodes) in index order.
enum class GraphSource { stated, reference, fallback };

std::string_view graph_source_name(GraphSource source);

// All that the cost model asks about the topology of one communicator.
struct NcclGraphs {
  NcclChannels ring;                 // of trees and collnet too
  NcclChannels nvls;                 // none: count 0
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

}  // namespace shardsim
