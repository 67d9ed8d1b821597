#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree/map_reader.h"
#include "base/units.h"

namespace shardsim {

// The content of a cluster file, key by key (docs/formats/cluster.md). Defaults are those of the document.

// The operations that the fitted values of a GPU hold for: those that the measurements behind them cover.
struct WorkRange {
  Bytes bytes_from;
  std::optional<Bytes> bytes_to;  // memory traffic of a lookup or an update; absent: none was fitted
  double gflop_from = 0;
  double gflop_to = 0;  // arithmetic of a matrix product; 0: none was fitted
  bool operator==(const WorkRange&) const = default;
};

// Errors of a calibration's predictions on operations that it left out, by kind, as in HeldOutCalls.
struct HeldOutWork {
  std::optional<double> lookup, update, product;
  bool operator==(const HeldOutWork&) const = default;
};

// The precisions of products that a GPU can state a rate for. Every GPU states the first.
inline constexpr std::array<const char*, 7> kProductPrecisions = {"fp32", "fp64", "tf32", "fp16",
                                                                  "bf16", "fp8",  "int8"};

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
  std::map<std::string, Flops> flops;  // by precision, at least fp32
  double flops_efficiency = 0.5;
  Seconds kernel_overhead{3e-6};
  Seconds launch_overhead{5e-6};  // host time of a launch; without effect so far
  double lookups_per_ns = 20;
  Seconds sort_per_lookup{1.5e-9};
  int sorted_update_kernels = 6;
  double sorted_update_efficiency = 0.5;
  double overlap_slowdown = 0;
  double stream_sharing = 0;  // of k operations that compute at once each runs at 1 / (1 + stream_sharing (k - 1))
  std::optional<WorkRange> holds_for;   // of what is fitted above; absent: every operation
  std::optional<HeldOutWork> held_out;  // of the compute model `roofline`; absent: not calibrated
  bool operator==(const GpuSpec&) const = default;
};

struct HostSpec {
  std::optional<Bytes> memory;  // per node
  Bandwidth memory_bandwidth{51.0 * (1LL << 30)};
  std::optional<Bandwidth> gpu_link_bandwidth;
  double time_factor = 1;  // host times of `software` are multiplied by it
  bool operator==(const HostSpec&) const = default;
};

// The calls that fitted overheads hold for: those that the measurements behind them cover. Other calls take the
// defaults.
struct FitRange {
  Bytes bytes_from;               // of a call, as nccl-tests counts: what the rank with the most sends or receives
  std::optional<Bytes> bytes_to;  // absent: what holds for the largest measured call holds for larger ones
  int ranks_from = 2;             // of a group
  int ranks_to = 0;               // 0: no limit
  std::string nvlink;             // switch, mesh, none; empty: any wiring of a node
  bool operator==(const FitRange&) const = default;
};

// Errors of a calibration's predictions on calls that it left out: scales of ln(measured / predicted), by the size of a
// call. Absent: no call of that size was left out.
struct HeldOutCalls {
  int rows = 0;
  std::optional<double> below_64kib, from_64kib, from_1mib, from_64mib;
  std::optional<double> scale(std::int64_t bytes) const;
  bool operator==(const HeldOutCalls&) const = default;
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
  int domain = 0;           // GPUs on one switch where they are those of several hosts; 0: a node is a host
  std::vector<Pair> pairs;  // mesh only
  RelayRule relay = RelayRule::widest;
  double nvb_efficiency = 0.75;
  std::optional<FitRange> nvb_holds_for;  // of a fitted nvb_efficiency; absent: every call
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
  std::vector<Switch> tree;    // filled from the short form when the file has none
  bool is_tree_short = false;  // it was; then it is not written either, so that the file serves other numbers of GPUs
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
  bool sharp = false;  // its switches reduce (NCCL's COLLNET)
  bool operator==(const FabricSpec&) const = default;
};

// NCCL's channels, one node or several, where a file states them instead of leaving them to the search.
struct GraphSpec {
  int channels = 0;
  Bandwidth bw_intra;
  Bandwidth bw_inter;
  std::string intra_path;               // nvl, nvb, pix, phb, sys; empty: Cluster finds it on the wiring
  std::vector<std::vector<int>> rings;  // GPU orders; empty: index order, rotated per channel
  bool operator==(const GraphSpec&) const = default;
};

struct P2pSpec {
  Bandwidth channel_rate{14e9};
  int channels_per_peer = 0;  // 0: by rule
  std::optional<bool> pxn;
  bool operator==(const P2pSpec&) const = default;
};

// Corrections for what NCCL's formula and pure flows leave out, for one collective kind and reach.
struct OverheadSpec {
  Seconds start;
  Seconds per_remote_peer;
  std::optional<double> nic_efficiency;  // absent: bounded by the graph, or by NCCL's own model
  std::optional<Bandwidth> nic_rate;     // most that one NIC carries, whatever its line rate; absent: that is the limit
  bool start_is_fitted = false;          // then `start` holds the latency of the steps too
  double efficiency = 1;                 // part of NCCL's bandwidth, or of the GPUs' ports (all_to_all, send_recv)
  Seconds fill;                          // lost by a pipeline per chunk: adds 2 sqrt(fill x time of the bytes)
  double latency_share = 1;              // part of NCCL's latency that shows as time
  bool plateau = true;                   // whether NCCL's rise of ring latencies at large sizes shows as time
  std::optional<FitRange> holds_for;     // absent: every call
  std::optional<HeldOutCalls> held_out;  // absent: not calibrated
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

// The keys that the file states and their places, by dotted path ("nvlink", "nics.latency", "faults.0"). Two clusters
// that say the same in different places are equal.
struct SpecPlaces {
  std::map<std::string, Place> by_path;
  std::set<std::string> changed;      // paths that --set or a file above the one that names the cluster states
  std::vector<std::string> unfitted;  // reaches of `overheads` that keep their own numbers in place of the fitted ones

  Place of(const std::string& path) const;  // of the nearest known map around `path`
  bool states(const std::string& path) const { return by_path.contains(path); }
  bool states_within(const std::string& path) const;  // any key of the map
  bool operator==(const SpecPlaces&) const { return true; }
};

struct ClusterSpec {
  std::string name;
  std::string summary;
  std::vector<std::string> open;  // what public information leaves open
  int nodes = 1;                  // NVLink domains where these span hosts (topology/spec/domain.h), else hosts
  int gpus_per_host = 0;          // of such a domain; 0: a node is a host
  // Price of a GPU hour with the GPU's part of the node and of the network, in any currency; no effect on times.
  std::optional<double> cost_per_gpu_hour;
  std::string currency;  // of that price: "USD"; "" where the file does not say
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

// Reads a cluster map (its `base` already merged). Errors: Failure::input with place; among them a value that was
// concluded from another one which --set or a file further up has changed since (a channel table and the NICs' rate).
ClusterSpec read_cluster(const Tree& tree);

// The overhead of a kind and reach for which a cluster file states nothing (docs/formats/cluster.md).
OverheadSpec default_overhead(const std::string& kind, bool across_nodes);

// The cluster as the text of a cluster file (docs/formats/cluster.md), every key written out, none left to a default
// but the reaches of `overheads` that state nothing: those the key `fits` may fill. Reading the text gives an equal
// ClusterSpec, for every spec that read_cluster() can give. Where a number states its source
// (`ClusterSpec::sources`) the text of that source entry is written, so whoever changes a sourced number changes both.
std::string write_cluster(const ClusterSpec& spec);

// Refuses what no single key shows: a world of over 100,000 ranks, a fault outside the cluster or on a port that does
// not exist. Errors: Failure::input at the place of the map.
void check_spec(const ClusterSpec& spec);

// Refuses a cluster of several nodes without NICs: a file may hold one, no run can use it.
void check_runnable(const ClusterSpec& spec);

// The keys of a GPU that say something else than the defaults of its model and have no effect yet, as dotted paths: the
// models of kernels that will ask for them (L2 hits, occupancy, launches by the host) are still to come.
std::vector<std::string> keys_without_effect(const GpuSpec& gpu);

// NVLinks between two GPUs of a node; those to the switch where there is one.
int links_between(const NvlinkSpec& nvlink, int a, int b);

// 80 for "8.0".
int capability_number(const std::string& compute_capability);

// One direction of a GPU's or NIC's PCIe slot: lanes x rate / 80, as NCCL counts (NVIDIA/nccl src/graph/topo.cc).
Bandwidth pcie_rate(const PcieSpec& pcie);
// The signalling rate of the lanes, one direction, after line coding (8b/10b to generation 2, 128b/130b from 3;
// PCI-SIG): 31.5 GB/s for x16 of generation 4, where NCCL assumes 24.
Bandwidth pcie_line_rate(const PcieSpec& pcie);

// Between two CPU sockets, one direction: what the file says, or NCCL's figure for that CPU.
Bandwidth cpu_link_rate(const ClusterSpec& spec);

// NICs of a node by the file's counts, 0 without NICs.
int nics_of_node(const ClusterSpec& spec);

// The PCIe tree of a file that has none: one switch per NIC with its GPUs, switches dealt in equal blocks to the
// sockets.
std::vector<PcieSpec::Switch> short_pcie_tree(int gpu_count, const std::optional<NicSpec>& nics, int sockets);

// The words of the key nvlink.kind.
std::string_view nvlink_kind_name(NvlinkKind kind);

// Limits above what any machine has: a larger number is a typing error, and would exhaust the memory.
inline constexpr int kMostRanks = 100'000;
inline constexpr int kMostGpusPerNode = 144;  // a route is kept for every pair
inline constexpr int kMostNicsPerNode = 1024;
inline constexpr int kMostLinksPerGpu = 1000;  // NVLink

}  // namespace shardsim
