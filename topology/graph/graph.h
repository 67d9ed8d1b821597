#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <optional>
#include <vector>

#include "topology/graph/link.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// One node of the cluster as a graph: GPUs, NVSwitch, PCIe switches, CPU sockets, NICs; directed edges with a rate.

enum class DeviceKind { gpu, nvswitch, pcie_switch, cpu, nic };

struct Device {
  DeviceKind kind = DeviceKind::gpu;
  int index = 0;  // among its kind
};

enum class EdgeKind { nvlink, pcie, cpu_link };

struct Edge {
  EdgeKind kind = EdgeKind::pcie;
  Bandwidth rate;
};

using NodeGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Device, Edge>;
using Vertex = boost::graph_traits<NodeGraph>::vertex_descriptor;

// Vertices: the GPUs first (so a GPU's vertex is its index), then the NVSwitch, PCIe switches, CPU sockets, NICs.
NodeGraph build_node_graph(const ClusterSpec& spec);

// A path between two devices of one node: by class, then width (wider first), then hops, then vertex index; at most one
// GPU is crossed, by NVLink only (NVB).
struct NodePath {
  PathClass path = PathClass::loc;
  std::vector<Vertex> vertices;  // both ends included
  Bandwidth width;
  bool through_host = false;
};

std::optional<NodePath> best_path(const NodeGraph& graph, Vertex from, Vertex to);

// The same over PCIe and sockets alone, crossing no GPU.
std::optional<NodePath> pcie_path(const NodeGraph& graph, Vertex from, Vertex to);

// From GPU to GPU by way of host memory: up to the CPU of the first, down from the CPU of the second.
std::optional<NodePath> host_path(const NodeGraph& graph, Vertex from, Vertex to);

// The path over one relay GPU that has an NVLink to both ends.
NodePath relayed_path(const NodeGraph& graph, Vertex from, Vertex relay, Vertex to);

// All relays (GPU indices) that link two unlinked GPUs, in index order.
std::vector<int> relays(const NodeGraph& graph, int from_gpu, int to_gpu);

std::optional<Vertex> find_device(const NodeGraph& graph, DeviceKind kind, int index);

}  // namespace shardsim
