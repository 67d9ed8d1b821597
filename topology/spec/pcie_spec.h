#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields/fields.h"
#include "topology/spec/network_spec.h"

namespace shardsim {

struct PcieSpec {
  int generation = 4;
  int lanes = 16;
  Seconds latency{1e-6};
  std::string cpu_vendor = "amd";
  std::string cpu_model;
  int sockets = 2;
  std::optional<Bandwidth> cpu_link;
  bool p2p = true;
  std::string p2p_level = "nccl";              // of two GPUs that copy directly, when `p2p` is true
  std::optional<double> host_copy_efficiency;  // absent: 1, or what `fits` says
  struct Switch {
    std::string name;
    std::string parent;  // another switch, or a socket number
    std::vector<int> gpus;
    std::vector<int> nics;
    std::optional<Bandwidth> uplink = {};  // absent: that of a slot
    bool operator==(const Switch&) const = default;
  };
  std::vector<Switch> tree;    // filled from the short form when the file has none
  bool is_tree_short = false;  // it was; then it is not written either, so that the file serves other numbers of GPUs
  bool operator==(const PcieSpec&) const = default;

  // Keys of a node with so many GPUs and these NICs.
  void keys(Fields& map, int gpu_count, const std::optional<NicSpec>& nics) {
    map.choose("generation", generation, {"3", "4", "5", "6"}, "the PCIe generation");
    map.choose("lanes", lanes, {"1", "2", "4", "8", "16", "32"},
               "the rate is lanes x 60, 120, 240 or 480 / 80 GB/s for generation 3, 4, 5 or 6; with 16 lanes 12, 24, "
               "48 or 96 GB/s");
    map.take("latency", latency, "latency of a path over PCIe");
    map.map("cpu", "the CPUs of a node, see below", [&](Fields& cpu) { cpu_keys(cpu); });
    map.take("p2p", p2p,
             "whether GPUs reach each other directly over PCIe; if not, the traffic goes through the memory of the "
             "host");
    map.choose("p2p_level", p2p_level, {"nccl", "pix", "pxb", "phb", "sys"},
               "the farthest path over which two GPUs copy to each other directly, as NCCL_P2P_LEVEL; farther pairs go "
               "through host memory. With `nccl`, NCCL's own rule: pxb, and sys for up to two GPUs of a node with "
               "CPUs of AMD (with nccl 2.14 sys, but phb with CPUs of Intel, pxb with Broadwell and arm)");
    map.usual("1, or as fitted")
        .take("host_copy_efficiency", host_copy_efficiency, efficiency_leaf(),
              "the share of the rate of PCIe and socket links that bytes reach which go through host memory");
    tree_key(map, gpu_count, nics);
  }

 private:
  void cpu_keys(Fields& map) {
    map.choose("vendor", cpu_vendor, {"amd", "intel", "arm", "power"}, "whose CPUs they are");
    map.take("model", cpu_model, "it decides the default of `link`");
    map.take("sockets", sockets, up_to(64), "CPU sockets of a node");
    map.usual("see below")
        .take("link", cpu_link,
              "the rate between sockets, one direction. Left out, bytes move at the rate of usual machines with these "
              "CPUs, and NCCL's search goes by its own constant");
  }
  void tree_key(Fields& map, int gpu_count, const std::optional<NicSpec>& nics);
};

// One direction of a GPU's or NIC's PCIe slot: lanes x rate / 80, as NCCL counts (NVIDIA/nccl src/graph/topo.cc).
Bandwidth pcie_rate(const PcieSpec& pcie);
// The signalling rate of the lanes, one direction, after line coding (8b/10b to generation 2, 128b/130b from 3;
// PCI-SIG): 31.5 GB/s for x16 of generation 4, where NCCL assumes 24.
Bandwidth pcie_line_rate(const PcieSpec& pcie);

double host_copy_efficiency(const PcieSpec& pcie);
// One direction between two sockets of usual machines with such CPUs, by data sheets.
Bandwidth usual_socket_link(const std::string& vendor, const std::string& model);

// The PCIe tree of a file that has none: one switch per NIC with its GPUs, switches dealt in equal blocks to the
// sockets.
std::vector<PcieSpec::Switch> short_pcie_tree(int gpu_count, const std::optional<NicSpec>& nics, int sockets);

}  // namespace shardsim
