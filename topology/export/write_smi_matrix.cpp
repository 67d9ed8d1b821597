#include <fmt/format.h>

#include "topology/export/export.h"
#include "topology/graph/graph.h"

namespace shardsim {
namespace {

struct Shown {
  std::string name;
  Vertex vertex;
};

constexpr int kMostShownNics = 64;  // more make no table that anyone reads

std::vector<Shown> devices_of(const ClusterSpec& spec, const NodeGraph& graph) {
  std::vector<Shown> devices;
  for (int gpu = 0; gpu < spec.gpu.count; ++gpu)
    devices.push_back({fmt::format("GPU{}", gpu), static_cast<Vertex>(gpu)});
  const int nics = nics_of_node(spec) > kMostShownNics ? 0 : nics_of_node(spec);
  for (int nic = 0; nic < nics; ++nic) {
    if (const auto vertex = find_device(graph, DeviceKind::nic, nic)) {
      devices.push_back({fmt::format("NIC{}", nic), *vertex});
    }
  }
  return devices;
}

std::string cell(const ClusterSpec& spec, const NodeGraph& graph, Vertex a, Vertex b) {
  if (a == b) return "X";
  const bool both_gpus = graph[a].kind == DeviceKind::gpu && graph[b].kind == DeviceKind::gpu;
  const int links = both_gpus ? links_between(spec.nvlink, graph[a].index, graph[b].index) : 0;
  if (links > 0) return fmt::format("NV{}", links);
  const auto path = pcie_path(graph, a, b);
  if (!path) return "SYS";
  return path->path == PathClass::phb ? "NODE" : std::string(path_class_name(path->path));
}

// The socket above a device, up its switches.
int socket_of(const ClusterSpec& spec, const NodeGraph& graph, Vertex device) {
  for (int socket = 0; socket < spec.pcie.sockets; ++socket) {
    const auto cpu = find_device(graph, DeviceKind::cpu, socket);
    const auto path = cpu ? pcie_path(graph, device, *cpu) : std::nullopt;
    if (path && path->path <= PathClass::phb) return socket;
  }
  return -1;
}

}  // namespace

std::string write_smi_matrix(const ClusterSpec& spec) {
  const NodeGraph graph = build_node_graph(spec);
  const std::vector<Shown> devices = devices_of(spec, graph);
  std::string text(6, ' ');
  for (const Shown& device : devices) text += fmt::format("{:<7}", device.name);
  text += "NUMA Affinity\n";
  for (const Shown& from : devices) {
    text += fmt::format("{:<6}", from.name);
    for (const Shown& to : devices) text += fmt::format("{:<7}", cell(spec, graph, from.vertex, to.vertex));
    text += fmt::format("{}\n", socket_of(spec, graph, from.vertex));
  }
  return text;
}

}  // namespace shardsim
