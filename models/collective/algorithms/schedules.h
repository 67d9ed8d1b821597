#pragma once

#include "models/collective/channel_layout.h"
#include "models/collective/collective.h"
#include "models/collective/load_builder.h"

namespace shardsim {

// The next functions add the bytes that the schedules of a reduction put on the links, and the latencies of the hops,
// to the builder. `nodes`: members_by_node() of the call, two ranks or more. `channels`: over several nodes; 0: as
// channels_across() finds them.

// Rings through all ranks: every hop carries 2 (n-1)/n of an all_reduce, (n-1)/n of a gathered or scattered total, all
// of a broadcast (but no hop leads to its root). `crosses`: they leave a node by the NIC of its last GPU.
void add_rings(const CollectiveCall& call, const std::vector<NodeMembers>& nodes, int channels, bool crosses,
               const Cluster& cluster, LoadBuilder& builder);

// all_reduce by NCCL's double binary tree over the nodes, chains inside them.
void add_double_tree(const CollectiveCall& call, const std::vector<NodeMembers>& nodes, int channels,
                     const Cluster& cluster, LoadBuilder& builder);

// Its part between the nodes: each channel's first rank of every node, [node][channel].
void add_tree_over_nodes(const std::vector<std::vector<NodeChannel>>& nodes, double bytes, LoadBuilder& builder);

// The same part by in-network reduction: each node's first rank of a channel sends its part to the switches once and
// takes the result once, as in a round over the nodes.
void add_round_over_nodes(const std::vector<std::vector<NodeChannel>>& nodes, double bytes, LoadBuilder& builder);

// all_reduce, all_gather or reduce_scatter by the reductions and multicasts of an NVSwitch (NVLS). `heads`: ranks of a
// node that each reduce and send out a part; all of them on one node; over several nodes the rank of each NIC in use,
// with a double tree between the nodes (NVLSTree, all_reduce). A port carries B (1 + 1/heads) of an all_reduce each
// way.
void add_nvls(const CollectiveCall& call, const std::vector<NodeMembers>& nodes, int heads, const Cluster& cluster,
              LoadBuilder& builder);

// The same with the network's switches in place of the tree (NVLS with SHARP): the head of each part sends it once and
// takes the result once. all_reduce.
void add_nvls_sharp(const CollectiveCall& call, const std::vector<NodeMembers>& nodes, int heads,
                    const Cluster& cluster, LoadBuilder& builder);

// all_reduce by the network's switches without NVSwitch reductions (CollnetDirect): each rank gives the heads their
// parts and takes the results.
void add_collnet_direct(const CollectiveCall& call, const std::vector<NodeMembers>& nodes, int channels,
                        const Cluster& cluster, LoadBuilder& builder);

// all_reduce by the network's switches, with a chain to the NIC and back in each node (CollnetChain).
void add_collnet_chain(const CollectiveCall& call, const std::vector<NodeMembers>& nodes, int channels,
                       const Cluster& cluster, LoadBuilder& builder);

}  // namespace shardsim
