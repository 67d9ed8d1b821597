#include <fmt/format.h>

#include "topology/graph/node_links.h"

namespace shardsim {
namespace {

// The nearest NIC with room; -1 when all are taken.
int nearest_nic(const NodeGraph& graph, int gpu, const std::vector<int>& room) {
  int best = -1;
  PathClass best_class = PathClass::net;
  for (int nic = 0; nic < static_cast<int>(room.size()); ++nic) {
    const auto vertex = find_device(graph, DeviceKind::nic, nic);
    if (room[nic] == 0 || !vertex) continue;
    const auto path = best_path(graph, static_cast<Vertex>(gpu), *vertex);
    if (!path || path->path >= best_class) continue;
    best = nic;
    best_class = path->path;
    if (best_class <= PathClass::pix) break;  // no path over PCIe is nearer
  }
  return best;
}

int take_nearest(const ClusterSpec& spec, const NodeGraph& graph, int gpu, std::vector<int>& room) {
  const int nic = nearest_nic(graph, gpu, room);
  if (nic < 0) {
    throw input_error(spec.places.of("pcie"), fmt::format("no NIC is left for GPU {} in the PCIe tree", gpu),
                      "Name every GPU and NIC in the tree");
  }
  --room[nic];
  return nic;
}

}  // namespace

NicPorts deal_nics(const ClusterSpec& spec, const NodeGraph& graph) {
  NicPorts ports;
  if (!spec.nics) return ports;
  const int count = nics_of_node(spec);
  const bool several = spec.nics->per_gpu > 1;  // then each GPU's NICs are one port
  for (int nic = 0; !several && nic < count; ++nic) ports.nics.push_back({nic});
  std::vector<int> room(static_cast<std::size_t>(count), std::max(1, spec.nics->shared_by));
  for (int gpu = 0; gpu < spec.gpu.count; ++gpu) {
    if (spec.nics->per_node > 0) {
      ports.port_of_gpu.push_back(gpu % count);
    } else if (several) {
      ports.port_of_gpu.push_back(gpu);
      ports.nics.emplace_back();
      for (int i = 0; i < spec.nics->per_gpu; ++i) ports.nics.back().push_back(take_nearest(spec, graph, gpu, room));
    } else {
      ports.port_of_gpu.push_back(take_nearest(spec, graph, gpu, room));
    }
  }
  return ports;
}

}  // namespace shardsim
