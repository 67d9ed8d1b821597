#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields/fields.h"

namespace shardsim {

inline constexpr int kMostNicsPerNode = 1024;
inline constexpr int kMostChannels = 1024;

struct NicSpec {
  int per_gpu = 0, shared_by = 0, per_node = 0;  // exactly one is above 0; several per GPU act as one port of their sum
  Bandwidth rate;                                // line rate per direction
  std::optional<Bandwidth> hardware_rate;        // by which fits tell the kind of NIC; absent: `rate`
  Seconds latency{2.5e-6};
  bool gpudirect = true;
  std::string transport = "infiniband";
  std::string rate_basis = "stated";
  bool operator==(const NicSpec&) const = default;

  void keys(Fields& map) {
    map.take("per_gpu", per_gpu, up_to(16), "NICs of each GPU");
    map.take("shared_by", shared_by, up_to(kMostNicsPerNode), "or the number of GPUs that share a NIC");
    map.take("per_node", per_node, up_to(kMostNicsPerNode),
             "or NICs of a node that all its GPUs reach (GPU g uses NIC g mod count). Exactly one of the three is "
             "required");
    map.exactly_one_of({"per_gpu", "shared_by", "per_node"});
    map.need("rate", rate, "the line rate in each direction");
    map.usual("`rate`").take("hardware_rate", hardware_rate, rate_leaf(),
                             "the line rate at which NICs of this kind are sold. `fits` choose the constants of a NIC "
                             "by it. Where --set or a file above changes `rate` alone, the NICs stay the same "
                             "hardware: the rate of the file below is kept here");
    map.take("latency", latency, "latency from NIC to NIC, one way");
    map.take("gpudirect", gpudirect, "with `false`, the bytes also load the PCIe ports of the GPU");
    map.choose("transport", transport, {"infiniband", "roce", "efa", "slingshot", "tcpx", "tcp"},
               "decides which constants of `fits: open_data` apply, see below");
    map.choose(
        "rate_basis", rate_basis, {"stated", "inferred", "assumed"},
        "where the rate comes from: it was published (stated), concluded from other facts (inferred), or neither "
        "(assumed, as by `cluster import`). A note says so unless it is stated");
  }
  int of_node(int gpu_count) const {
    return per_gpu > 0 ? gpu_count * per_gpu : shared_by > 0 ? gpu_count / shared_by : per_node;
  }
};

struct FabricSpec {
  std::string kind = "non_blocking";
  int nodes_per_leaf = 0;  // 0: all nodes
  double oversubscription = 1;
  Seconds latency;
  bool collapse = false;
  bool sharp = false;
  bool operator==(const FabricSpec&) const = default;

  void keys(Fields& map) {
    map.choose("kind", kind, {"non_blocking", "fat_tree", "rail_optimised"},
               "the fabric between nodes. In a rail-optimised fabric, a block of rails counts as one leaf");
    map.usual("all nodes")
        .take("nodes_per_leaf", nodes_per_leaf, up_to(1'000'000),
              "nodes under one leaf switch; required if `oversubscription` is above 1");
    map.take("oversubscription", oversubscription,
             real_leaf(Bounds::from(1).to(1e6), "the rate down from a leaf over its rate up, e.g. 2"),
             "the rate of a leaf towards its nodes divided by its rate towards the spine; not allowed with "
             "non_blocking");
    map.refuse_if(kind == "non_blocking" && oversubscription > 1, "oversubscription",
                  "a non-blocking fabric has no oversubscription", "Write kind: fat_tree or rail_optimised");
    map.refuse_if(nodes_per_leaf == 0 && oversubscription > 1, "oversubscription",
                  "all nodes are under one leaf, so no traffic crosses the oversubscribed links",
                  "Write nodes_per_leaf too");
    map.take("latency", latency, "added for each crossing of the spine");
    map.take(
        "collapse", collapse,
        "published measurements of this fabric show that it loses rate under all-to-all: over N nodes, more than 8, "
        "a NIC keeps (8 / N)^0.05 of it. A note says so, and how much of the iteration is affected");
    map.take("sharp", sharp,
             "the InfiniBand switches reduce data themselves (SHARP, NCCL's COLLNET). For an all_reduce over several "
             "nodes, NCCL may then choose NVLS with SHARP, CollnetDirect or CollnetChain. Other collectives do not "
             "change");
  }
};

// NCCL's channels, one node or several, where a file states them instead of leaving them to the search.
struct GraphSpec {
  int channels = 0;
  Bandwidth bw_intra;
  Bandwidth bw_inter;
  std::string intra_path;               // empty: Cluster finds it on the wiring
  std::vector<std::vector<int>> rings;  // GPU orders; empty: index order, rotated per channel
  bool operator==(const GraphSpec&) const = default;

  void keys(Fields& map, int gpu_count, bool across_nodes) {
    map.need("channels", channels, up_to(kMostChannels), "the number of channels");
    map.need("bw_intra", bw_intra, "rate of a channel inside a node");
    if (!across_nodes) bw_inter = bw_intra;
    if (across_nodes)
      map.need("bw_inter", bw_inter,
               "only in `multi_node`: rate of a channel between nodes. It limits the efficiency of NICs where that is "
               "not stated");
    map.usual("found from the links")
        .choose("intra_path", intra_path, {"nvl", "nvb", "pix", "phb", "sys"},
                "the farthest connection between neighbours of a ring, which decides NCCL's latencies");
    rings_key(map, gpu_count);
  }

 private:
  void rings_key(Fields& map, int gpu_count);
};

struct P2pSpec {
  Bandwidth channel_rate{14e9};
  int channels_per_peer = 0;  // 0: by rule
  std::optional<bool> pxn;
  bool operator==(const P2pSpec&) const = default;

  void keys(Fields& map) {
    map.take("channel_rate", channel_rate, "rate of one channel between two nodes");
    map.usual("NCCL's rule")
        .take("channels_per_peer", channels_per_peer, up_to(kMostChannels),
              "channels between two GPUs, see [collectives.md](../collectives.md)");
    map.usual("true with NVLink")
        .take("pxn", pxn,
              "with GPUDirect, bytes for another rail first go by NVLink to the GPU that uses the NIC of that rail");
  }
};

// NCCL_CROSS_NIC: 0 is never, 1 always, 2 (NCCL's default) where more bandwidth is found so.
inline constexpr int kNeverCrossNic = 0, kAlwaysCrossNic = 1, kCrossNicIfFaster = 2;

// The settings of NCCL's environment that take a choice out of its hands.
struct NcclSettings {
  std::string algorithm;              // as NCCL_ALGO: "Ring", "Tree,Ring", "^NVLS"; "": all of them
  std::string protocol;               // as NCCL_PROTO: "Simple", "^LL128"; "": all of them
  int cross_nic = kCrossNicIfFaster;  // as NCCL_CROSS_NIC: whether rings may leave a node by another NIC
  int channels = 0;  // of a kernel (CTAs): NCCL_MAX_CTAS and NCCL_MIN_CTAS alike; 0: as NCCL's search says
  bool operator==(const NcclSettings&) const = default;

  void keys(Fields& map);
};

// True when a list of NCCL_ALGO or NCCL_PROTO leaves the name in the choice: an empty list leaves all, one that begins
// with ^ all others. Upper and lower case are alike, as in NCCL.
bool leaves(std::string_view list, std::string_view name);
// True when the list names it, and does not exclude it.
bool names(std::string_view list, std::string_view name);
// The first word of the list that is none of NCCL's algorithms or protocols; "" when all are.
std::string unknown_algorithm(std::string_view list);
std::string unknown_protocol(std::string_view list);

}  // namespace shardsim
