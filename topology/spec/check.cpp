#include "topology/spec/check.h"

#include <fmt/format.h>

#include "topology/spec/limits.h"

namespace shardsim {
namespace {

void check_range(int index, int end, const std::string& what, const Place& place) {
  if (index >= 0 && index < end) return;
  throw input_error(place, fmt::format("a fault on {} {}, but there are {}", what, index, end), "Indices count from 0");
}

void check_fault(const ClusterSpec& spec, const FaultSpec& fault, const Place& place) {
  check_range(fault.node, spec.nodes, "node", place);
  if (fault.gpu) check_range(*fault.gpu, spec.gpu.count, "GPU", place);
  if (fault.nic) check_range(*fault.nic, nics_of_node(spec), "NIC", place);
  if (fault.gpu && fault.rate_factor != 1 && spec.nvlink.kind == NvlinkKind::none) {
    throw input_error(place, fmt::format("GPU {} has no NVLink ports to slow down", *fault.gpu),
                      "Name a nic, or use compute_factor");
  }
}

}  // namespace

void check_spec(const ClusterSpec& spec) {
  const std::int64_t ranks = std::int64_t{spec.nodes} * spec.gpu.count;
  if (ranks > kMostRanks) {
    throw input_error(
        spec.places.of("nodes"),
        fmt::format("{} nodes of {} GPUs are {} ranks, over {}", spec.nodes, spec.gpu.count, ranks, kMostRanks),
        "Simulate fewer nodes");
  }
  for (std::size_t i = 0; i < spec.faults.size(); ++i) {
    check_fault(spec, spec.faults[i], spec.places.of(fmt::format("faults.{}", i)));
  }
}

void check_runnable(const ClusterSpec& spec) {
  if (spec.nodes == 1 || spec.nics) return;
  throw input_error(spec.places.of("nodes"), fmt::format("{} nodes but no NICs between them", spec.nodes),
                    "Add `nics`, or set nodes: 1");
}

}  // namespace shardsim
