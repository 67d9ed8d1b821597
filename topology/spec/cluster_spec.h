#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields/fields.h"
#include "topology/spec/gpu_spec.h"
#include "topology/spec/network_spec.h"
#include "topology/spec/nvlink_spec.h"
#include "topology/spec/overhead_spec.h"
#include "topology/spec/pcie_spec.h"

namespace shardsim {

// The content of a cluster file, key by key. Each struct says its keys for the reader, the writer, the schema and the
// tables of docs/formats/cluster.md.

struct FaultSpec {
  int node = 0;
  std::optional<int> gpu;
  std::optional<int> nic;
  double rate_factor = 1;
  double compute_factor = 1;
  bool operator==(const FaultSpec&) const = default;

  void keys(Fields& map) {
    map.need("node", node, index_leaf(), "the node, from 0");
    map.take("gpu", gpu, index_leaf(), "the GPU, from 0");
    map.take("nic", nic, index_leaf(), "or the NIC, from 0");
    map.exactly_one_of({"gpu", "nic"}, "a fault names one GPU or one NIC");
    map.take("rate_factor", rate_factor, efficiency_leaf(),
             "multiplies the rate of the NIC, or of the NVLink ports of the GPU");
    map.take("compute_factor", compute_factor, efficiency_leaf(),
             "only with `gpu`: multiplies the speed of its compute. At least one of the two factors is required");
    map.refuse_if(map.reading() && !map.reader().has("rate_factor") && !map.reader().has("compute_factor"), "",
                  "the fault states no effect", "Write rate_factor or compute_factor");
    map.refuse_if(nic && compute_factor != 1, "compute_factor", "compute_factor has no meaning for a NIC",
                  "Write compute_factor together with gpu");
  }

 private:
  static LeafReader<std::int64_t> index_leaf() { return count_leaf(Bounds::from(0).below(1'000'000)); }
};

// The keys that the file states and their places, by dotted path ("nvlink", "nics.latency", "faults.0"). Two clusters
// that say the same in different places are equal.
struct SpecPlaces {
  std::map<std::string, Place> by_path;
  std::set<std::string> changed;      // paths that --set or a file above the one that names the cluster states
  std::vector<std::string> gone;      // with the GPUs that a later layer takes away (topology/spec/gpu_cut.h)
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
  NcclSettings forced;
  Seconds launch_overhead{20e-6};
  std::map<std::string, OverheadPair> overheads;  // by kind: all_to_all, all_reduce, all_gather, reduce_scatter, ...
  std::string fits = "none";  // "open_data": defaults of `overheads` are those fitted to the open measurements
  std::vector<FaultSpec> faults;
  std::vector<SourcedValue> sources;  // every value that states where it comes from
  SpecPlaces places;

  bool operator==(const ClusterSpec&) const = default;

  // A map comes after those whose values its defaults and limits ask for.
  void keys(Fields& map) {
    head_keys(map);
    map.take("summary", summary, "the line that `shardsim list clusters` shows");
    map.take("nodes", nodes, up_to(kMostRanks), "how many nodes are simulated");
    map.take("cost_per_gpu_hour", cost_per_gpu_hour, real_leaf(Bounds::from(0)),
             "what one GPU costs per hour, with its part of the node and the network, in any currency. "
             "[Sweeps](../sweeps.md) compute costs from it; no time depends on it");
    if (!map.writing() || !currency.empty())
      map.take("currency", currency,
               "of that price, such as `USD`: it stands beside every cost. Points of a sweep whose currencies differ "
               "are not compared by cost");
    map.choose(
        "device", device, {"cuda", "cpu"},
        "with `cpu`, ranks are processes on CPUs. Then the channels of NCCL limit nothing, and reductions run as "
        "one ring in the order of ranks");
    map.choose("nccl", nccl, {"2.14", "2.30"},
               "the version of NCCL. It decides the effective NVLink rate, the rates of CPU links, the channels per "
               "peer and the tables of NCCL's cost model");
    map.choose("fits", fits, {"none", "open_data"},
               "whether `overheads` are taken from a fit to open measurements, see [`overheads`](#overheads)");
    map.need_map("gpu", "see below", [&](Fields& inside) { gpu.keys(inside, device); });
    map.take("nics", nics, "see below; required for more than one node");
    map.map("nvlink", "see below", [&](Fields& inside) { nvlink.keys(inside, gpu, nccl); });
    map.map("pcie", "see below", [&](Fields& inside) { pcie.keys(inside, gpu.count, nics); });
    if (map.reading()) host.gpu_link_bandwidth = pcie_rate(pcie);
    map.take("host", host, "see below");
    map.take("fabric", fabric, "see below");
    if (!map.writing() || graph_one_node || graph_multi_node)
      map.usual("-").map("graph", "the channels that NCCL found", [&](Fields& inside) { graph_keys(inside); });
    map.take("p2p", p2p, "the channels of an all-to-all");
    if (!map.writing() || forced != NcclSettings{})
      map.take("nccl_settings", forced, "choices that NCCL's environment takes out of its hands");
    map.map("overheads", "start times of collectives, and the efficiency of NICs",
            [&](Fields& inside) { overhead_keys(inside); });
    map.list("faults", faults, Bounds::from(0), "slow GPUs and NICs",
             [](Fields& inside, FaultSpec& fault) { fault.keys(inside); });
  }

 private:
  void head_keys(Fields& map);
  void graph_keys(Fields& map);
  void overhead_keys(Fields& map);
};

// Describes what a cluster file may say (base/schema/).
Shape cluster_shape();

// Reads a cluster map (its `base` already merged). Errors: Failure::input with place; among them a value that was
// concluded from another one which --set or a file further up has changed since (a channel table and the NICs' rate).
ClusterSpec read_cluster(const Tree& tree);

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

// Between two CPU sockets, one direction: what the file says, or the rate that NCCL's search assumes of that CPU.
Bandwidth cpu_link_rate(const ClusterSpec& spec);
// The rate at which bytes move there: what the file says, or that of usual machines with that CPU.
Bandwidth socket_link_rate(const ClusterSpec& spec);

// One direction between a GPU and the memory of its host: what the file says, or the rate of the GPU's slot.
Bandwidth host_link_rate(const ClusterSpec& spec);

// NICs of a node by the file's counts, 0 without NICs.
int nics_of_node(const ClusterSpec& spec);

// Refuses a value that was concluded from another one which a later layer (--set, a file above its base) has changed
// since: a channel table and the links it was found on, an effective rate and the data sheet's.
void check_derived(const Tree& cluster);

}  // namespace shardsim
