#include <fmt/format.h>

#include "topology/spec/limits.h"
#include "topology/spec/readers.h"

namespace shardsim {
namespace {

void read_layout(MapReader& reader, int gpu_count, NicSpec& nics) {
  const int ways = reader.has("per_gpu") + reader.has("shared_by") + reader.has("per_node");
  if (ways != 1) {
    throw input_error(reader.tree().place, fmt::format("{} of per_gpu, shared_by and per_node are given", ways),
                      "Write exactly one of them");
  }
  if (reader.has("per_gpu")) nics.per_gpu = small_count(reader, "per_gpu", 16);
  if (reader.has("per_node")) nics.per_node = small_count(reader, "per_node", kMostNicsPerNode);
  if (!reader.has("shared_by")) return;
  nics.shared_by = small_count(reader, "shared_by", kMostNicsPerNode);
  if (gpu_count % nics.shared_by != 0) {
    throw input_error(reader.place_of("shared_by"),
                      fmt::format("{} GPUs cannot share NICs {} by {}", gpu_count, nics.shared_by, nics.shared_by),
                      "Write a divisor of gpu.count");
  }
}

}  // namespace

NicSpec read_nics(MapReader reader, int gpu_count) {
  NicSpec nics;
  read_layout(reader, gpu_count, nics);
  nics.rate = reader.rate("rate");
  nics.latency = reader.time("latency", nics.latency);
  nics.gpudirect = reader.flag("gpudirect", nics.gpudirect);
  nics.transport = reader.choice("transport", {"infiniband", "roce", "efa", "slingshot", "tcp"}, nics.transport);
  nics.rate_basis = reader.choice("rate_basis", {"stated", "inferred", "assumed"}, nics.rate_basis);
  reader.finish();
  return nics;
}

FabricSpec read_fabric(MapReader reader) {
  FabricSpec fabric;
  fabric.kind = reader.choice("kind", {"non_blocking", "fat_tree", "rail_optimised"}, fabric.kind);
  if (reader.has("nodes_per_leaf")) fabric.nodes_per_leaf = small_count(reader, "nodes_per_leaf", 1'000'000);
  fabric.oversubscription = reader.real("oversubscription", fabric.oversubscription);
  fabric.latency = reader.time("latency", fabric.latency);
  fabric.collapse = reader.flag("collapse", fabric.collapse);
  if (fabric.oversubscription < 1 || fabric.oversubscription > 1e6) {
    throw input_error(reader.place_of("oversubscription"), "oversubscription is outside 1 to 1000000",
                      "Write the rate down from a leaf over its rate up, e.g. 2");
  }
  if (fabric.kind == "non_blocking" && fabric.oversubscription > 1) {
    throw input_error(reader.place_of("oversubscription"), "a non-blocking fabric has no oversubscription",
                      "Write kind: fat_tree or rail_optimised");
  }
  reader.finish();
  return fabric;
}

}  // namespace shardsim
