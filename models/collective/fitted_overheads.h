#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// Overheads that NCCL's formula and pure flows leave out, fitted to public measurements per network and GPU generation.
// No value belongs to one system.

// One fitted row: the values of some kinds in one reach. Values that are absent stay as they are.
struct FittedOverhead {
  std::vector<std::string> kinds = {};  // as in the cluster key `overheads`
  bool across_nodes = false;
  // "rdma" (InfiniBand, RoCE), "slingshot" or "tcp" across nodes; "nvswitch", "mesh" or "pcie" in a node; "": any.
  std::string network = {};
  // Line rate of the NICs that the row was measured with; it holds for faster ones too. Absent: any. NICs of a rate are
  // the same hardware whatever GPUs they serve, so the GPUs have no say. See share_of().
  std::optional<Bandwidth> nics_from = {};
  // In a node, compute capability of the GPUs from which on the row holds, as 90 for 9.0; 0: any. Inside a node the
  // GPUs are the hardware.
  int capability_from = 0;
  int ranks_to = 0;  // of the largest group measured, where the table's range of the reach does not say so
  std::optional<Seconds> start = {}, per_remote_peer = {}, fill = {};
  std::optional<Seconds> nvls_fill = {};  // only on nodes with an NVSwitch whose GPUs have NVLS
  std::optional<double> efficiency = {}, nic_efficiency = {}, latency_share = {};
  // The most that all NICs of a node carry together, whatever their number and line rate, because the node's processors
  // copy their bytes (TCP). Each NIC gets its part of it, in place of a share of the line rate.
  std::optional<Bandwidth> node_rate = {};
  // The rate of one of NCCL's channels between two GPUs of a node.
  std::optional<Bandwidth> channel_rate = {};
  std::optional<bool> plateau = {};
  std::vector<std::string> fitted_on = {};  // systems
};

struct FitTable {
  std::string name;
  std::string source;
  std::vector<FittedOverhead> rows;          // later rows win over earlier ones
  FitRange in_node = {}, across_nodes = {};  // what the rows of each reach hold for
  // Key `pcie.host_copy_efficiency`, for nodes of which some pairs copy through host memory.
  std::optional<double> host_copies = {};
  std::vector<std::string> host_copies_fitted_on = {};  // systems
};

// The fit to the open measurements in scenarios/measurements/, the cluster key `fits: open_data`.
const FitTable& open_data_fits();

// How much a row about NICs of the rate `measured` says of NICs of another one, 0 to 1: all from an eighth below it on,
// nothing up to an eighth above half of it, which is the generation before, and between the two a part that grows with
// the logarithm of the rate, so that no constant jumps with it.
double share_of(Bandwidth measured, Bandwidth nic);

// The rate that says what kind of NIC it is: `hardware_rate`, else `rate`.
Bandwidth kind_of(const NicSpec& nics);

// The network of a reach, in the words of FittedOverhead; "" when no row can be about it.
std::string network_of(const ClusterSpec& spec, bool across_nodes);

// The spec with the table's values where the file states nothing for that kind and reach, each noted in `sources` as
// fitted; reaches that keep what the file states are noted in `places.unfitted`. `fits` becomes "none": the values are
// in.
ClusterSpec with_fits(ClusterSpec spec, const FitTable& table);

// As the spec's own key `fits` says.
ClusterSpec with_fits(ClusterSpec spec);

// True when the fits to published measurements of a network between nodes are good enough to claim an accuracy:
// InfiniBand and RoCE. Slingshot and TCP have fits to two systems each, which differ widely.
bool is_calibrated(std::string_view transport);

// How much faster than its slot a NIC has to be for a sentence to be worth it.
inline constexpr double kTellingSlot = 1.05;

// Sentences that a reader of times on such a cluster has to know: that no accuracy is claimed for its network, and by
// how much predictions missed published times on it; that the rate of its NICs was inferred; that fits state no range,
// or that numbers of the file replace them; and which keys have no effect.
std::vector<std::string> cluster_notes(const ClusterSpec& spec);

// Sentences that say of which collectives across all nodes the fits were made for groups of another size, and what is
// taken there: what was fitted for the nearest size, or the public defaults.
std::vector<std::string> fit_reach_notes(const ClusterSpec& spec);

// The ranks of groups that a fit holds for: "2 to 128", "64", "2 and more".
std::string ranks_text(const FitRange& range);

// Those of the cluster_notes() that name keys which the file states and which change nothing.
std::vector<std::string> idle_key_notes(const ClusterSpec& spec);

// True where GPUs of a node copy through host memory at a share of the links' rate that neither the file nor a fit
// states: all of it is then taken, and published systems reach less.
bool guesses_host_copies(const ClusterSpec& spec);

// The name of the network between nodes for which no accuracy is claimed ("EFA"); "" where one is, as on InfiniBand, or
// on a cluster that was calibrated on measurements of its own, or of CPUs.
std::string unclaimed_network(const ClusterSpec& spec);

}  // namespace shardsim
