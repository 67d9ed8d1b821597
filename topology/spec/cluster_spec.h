#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/map_reader.h"
#include "base/units.h"

namespace shardsim {

// What a cluster file says, key by key (docs/formats.md, cluster files). Defaults are those of the document.

struct GpuSpec {
  std::string model;
  int count = 0;  // per node
  std::string compute_capability;
  Bytes hbm;
  Bytes reserved;
  Bandwidth hbm_bandwidth;
  Bandwidth copy_bandwidth;
  Bytes l2;
  Bandwidth l2_bandwidth;
  int sm_count = 100;
  std::map<std::string, Flops> flops;  // by dtype, at least fp32
  double flops_efficiency = 0.5;
  Seconds kernel_overhead{3e-6};
  Seconds launch_overhead{5e-6};
  double lookups_per_ns = 20;
  Seconds sort_per_lookup{1.5e-9};
  int sorted_update_kernels = 6;
  double sorted_update_efficiency = 0.5;
  struct UpdateEfficiency {
    Bytes table_bytes;
    double efficiency = 1;
    bool operator==(const UpdateEfficiency&) const = default;
  };
  std::vector<UpdateEfficiency> inplace_update_efficiency;
  double overlap_slowdown = 0;
  bool operator==(const GpuSpec&) const = default;
};

struct HostSpec {
  std::optional<Bytes> memory;  // per node
  Bandwidth memory_bandwidth{51.0 * (1LL << 30)};
  std::optional<Bandwidth> gpu_link_bandwidth;
  bool operator==(const HostSpec&) const = default;
};

enum class NvlinkKind { none, nvswitch, mesh };
enum class RelayRule { widest, lowest_index, highest_index, balanced, none };

struct NvlinkSpec {
  NvlinkKind kind = NvlinkKind::none;
  int links_per_gpu = 0;
  Bandwidth per_link;            // data sheet, one direction
  Bandwidth per_link_effective;  // what flows use
  Seconds latency{1e-6};
  struct Pair {
    int a = 0, b = 0, links = 0;  // a < b
    bool operator==(const Pair&) const = default;
  };
  std::vector<Pair> pairs;  // mesh only
  RelayRule relay = RelayRule::widest;
  double nvb_efficiency = 0.75;
  bool operator==(const NvlinkSpec&) const = default;
};

struct PcieSpec {
  int generation = 4;
  int lanes = 16;
  Seconds latency{1e-6};
  std::string cpu_vendor = "amd";
  std::string cpu_model;
  int sockets = 2;
  std::optional<Bandwidth> cpu_link;
  bool p2p = true;
  struct Switch {
    std::string name;
    std::string parent;  // another switch, or a socket number
    std::vector<int> gpus;
    std::vector<int> nics;
    bool operator==(const Switch&) const = default;
  };
  std::vector<Switch> tree;  // filled from the short form when the file has none
  bool operator==(const PcieSpec&) const = default;
};

struct NicSpec {
  int per_gpu = 0, shared_by = 0, per_node = 0;  // exactly one is above 0; several per GPU act as one port of their sum
  Bandwidth rate;                                // line rate per direction
  Seconds latency{2.5e-6};
  bool gpudirect = true;
  std::string transport = "infiniband";
  std::string rate_basis = "stated";
  bool operator==(const NicSpec&) const = default;
};

struct FabricSpec {
  std::string kind = "non_blocking";  // non_blocking, fat_tree, rail_optimised
  int nodes_per_leaf = 0;             // 0: all nodes
  double oversubscription = 1;
  Seconds latency;  // added per crossing of the spine
  bool collapse = false;
  bool operator==(const FabricSpec&) const = default;
};

struct GraphSpec {  // NCCL's channels, one node or several
  int channels = 0;
  Bandwidth bw_intra;
  Bandwidth bw_inter;
  std::string intra_path;               // nvl, nvb, pix, phb, sys; found from the graph when the file does not say
  std::vector<std::vector<int>> rings;  // GPU orders; empty: index order, rotated per channel
  bool cross_nic = false;
  bool operator==(const GraphSpec&) const = default;
};

struct P2pSpec {
  Bandwidth channel_rate{14e9};
  int channels_per_peer = 0;  // 0: by rule
  std::optional<bool> pxn;
  bool operator==(const P2pSpec&) const = default;
};

// What NCCL's formula and pure flows leave out, per collective kind and reach.
struct OverheadSpec {
  Seconds start;
  Seconds per_remote_peer;
  std::optional<double> nic_efficiency;  // absent: bounded by the graph, or by NCCL's own model
  bool start_is_fitted = false;          // then `start` holds the latency of the steps too
  double efficiency = 1;                 // part of NCCL's bandwidth, or of the GPUs' ports (all_to_all, send_recv)
  Seconds fill;                          // lost by a pipeline per chunk: adds 2 sqrt(fill x time of the bytes)
  double latency_share = 1;              // part of NCCL's latency that shows as time
  bool plateau = true;                   // whether NCCL's rise of ring latencies at large sizes shows as time
  bool operator==(const OverheadSpec&) const = default;
};
struct OverheadPair {
  OverheadSpec in_node, across_nodes;
  bool operator==(const OverheadPair&) const = default;
};

struct FaultSpec {
  int node = 0;
  std::optional<int> gpu;
  std::optional<int> nic;
  double rate_factor = 1;
  double compute_factor = 1;
  bool operator==(const FaultSpec&) const = default;
};

// Where the maps of the file stood, by dotted path ("nvlink", "faults.0"), for messages alone: two clusters that say
// the same in different places are equal.
struct SpecPlaces {
  std::map<std::string, Place> by_path;

  Place of(const std::string& path) const;  // of the nearest known map around `path`
  bool operator==(const SpecPlaces&) const { return true; }
};

struct ClusterSpec {
  std::string name;
  std::string summary;
  std::vector<std::string> open;  // what public information leaves open
  int nodes = 1;
  std::string device = "cuda";
  GpuSpec gpu;
  HostSpec host;
  NvlinkSpec nvlink;
  PcieSpec pcie;
  std::optional<NicSpec> nics;
  FabricSpec fabric;
  std::string nccl = "2.30";
  std::optional<GraphSpec> graph_one_node, graph_multi_node;
  P2pSpec p2p;
  Seconds launch_overhead{20e-6};
  std::map<std::string, OverheadPair> overheads;  // by kind: all_to_all, all_reduce, all_gather, reduce_scatter, ...
  std::string fits = "none";  // "open_data": defaults of `overheads` are those fitted to the open measurements
  std::vector<FaultSpec> faults;
  std::vector<SourcedValue> sources;  // every value that states where it comes from
  SpecPlaces places;

  bool operator==(const ClusterSpec&) const = default;
};

// Reads a cluster map (its `base` already merged). Errors: Failure::input with place.
ClusterSpec read_cluster(const Tree& tree);

// What docs/formats.md gives a kind's reach of which a file states nothing.
OverheadSpec default_overhead(const std::string& kind, bool across_nodes);

// 80 for "8.0".
int capability_number(const std::string& compute_capability);

// One direction of a GPU's or NIC's PCIe slot: lanes x rate / 80, as NCCL counts (NVIDIA/nccl src/graph/topo.cc).
Bandwidth pcie_rate(const PcieSpec& pcie);
// What the lanes signal, one direction, after line coding (8b/10b to generation 2, 128b/130b from 3; PCI-SIG): 31.5
// GB/s for x16 of generation 4, where NCCL reckons with 24.
Bandwidth pcie_line_rate(const PcieSpec& pcie);

// Between two CPU sockets, one direction: what the file says, or NCCL's figure for that CPU.
Bandwidth cpu_link_rate(const ClusterSpec& spec);

// NICs of a node by the file's counts, 0 without NICs.
int nics_of_node(const ClusterSpec& spec);

}  // namespace shardsim
