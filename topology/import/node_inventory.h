#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/spec/cluster_spec.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {

// The hardware that an importer found in the description of one node by another tool, before it becomes a cluster file.
// A field that the description leaves out stays empty, and is listed in the `open` of the cluster made of it.
struct NodeInventory {
  struct Gpu {
    std::string name;  // bus id, or "GPU3"
    Place place;
    std::optional<int> capability;  // 80 for 8.0
    std::string model;              // of the catalogue; "" when not known
    std::string unknown_id{};       // its PCI device, where that is a GPU of NVIDIA and none of the catalogue
  };
  struct Nic {
    std::string name;
    std::optional<Bandwidth> rate;
    std::string transport;  // "" when not known
    bool gpudirect = true;
    bool is_transport_stated = false;
    bool is_rate_of_slot = false;  // `rate` is what its PCIe slot leaves to it, below its line rate
  };

  Place place;
  int nodes = 1;
  bool is_one_domain = false;  // one NVLink fabric joins the GPUs of all nodes
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  std::vector<PcieSpec::Switch> tree;
  int sockets = 1;
  std::string cpu_vendor;   // "" when not known
  std::string unknown_cpu;  // the vendor that the file states, where NCCL knows nothing of it
  std::string cpu_model;
  std::optional<Bandwidth> cpu_link;
  std::optional<int> pcie_generation;
  std::optional<int> pcie_lanes;
  std::optional<Bandwidth> host_link;  // of a GPU, where it is no PCIe slot
  bool nvlink_is_known = true;
  std::vector<int> switch_links;  // by GPU, when there is an NVSwitch; else empty
  std::vector<NvlinkSpec::Pair> pairs;
  std::vector<std::string> notes;  // for `open`
};

// The settings that the command line adds to a description.
struct ImportOptions {
  std::string name = "imported";          // of the cluster: a-z, 0-9 and _
  std::string gpu_model;                  // "" when not given
  std::string gpu_like;                   // the model whose data sheet stands in for an unknown `gpu_model`; "": none
  std::optional<int> nvlinks;             // of each GPU to an NVSwitch, where the file hides them
  std::string nics;                       // those in use, in the manner of NCCL_IB_HCA: see uses_nic(); "": by nearness
  std::optional<Bandwidth> cpu_link;      // between sockets, instead of NCCL's constant
  std::optional<int> pcie_generation;     // instead of what the file says
  std::optional<Bandwidth> nic_rate;      // instead of those in the file
  bool gpu_model_may_be_assumed = false;  // else a file that does not name the model needs `gpu_model`
};

// One GPU of a node has no NVLinks, and the others have them to a switch. A switch of the model joins all GPUs of a
// node.
Error gpu_off_switch(const Place& place, const std::string& gpu);

// True when a list of NICs names this one: prefixes of names, whole names after a leading "=", all others after a
// leading
// "^", as in "mlx5_0,mlx5_1", "=mlx5_1" and "^mlx5_8" (NCCL_IB_HCA of NCCL's documentation; ports are not looked at).
bool uses_nic(const std::string& list, const std::string& name);

// The data sheet of the options' model, or of the one it is like under its own name. Errors: as find_gpu_model().
GpuModel chosen_model(const ImportOptions& options);

// The cluster of these nodes. NICs slower than the fastest are left out, with a note, and those that share a PCIe
// switch with no GPU where others do, as NCCL's search leaves them; GPU values come from the data sheet of the model,
// and what nobody said is NCCL's own default, with a note. Errors (Failure::input): no GPU, GPUs of several models, a
// model that contradicts the file, more NVLinks than the model has (at the GPU's place), sizes that no cluster file may
// have.
ClusterSpec cluster_of(NodeInventory node, const ImportOptions& options);

// a-z, 0-9 and _ of a file's name, at most 64; "imported" when nothing is left.
std::string cluster_name_of(const std::string& path);

// A topology as NCCL dumps it (NCCL_TOPO_DUMP_FILE) or takes it (NCCL_TOPO_FILE): NVIDIA/nccl src/graph/xml.cc.
// Complete dumps give GPUs, NVLinks, NICs and the PCIe tree. Skeletons without <gpu> give the PCIe tree with its GPU
// and NIC slots; what they lack is in the notes. Of several hosts, which NCCL writes of an NVLink domain that joins
// them, the first sound one is described, and what is different on others is in the notes. NVLinks to GPUs outside of
// the file, or of a GPU to itself, are left out with a note, as NCCL does.
// A PCIe switch and each NUMA node become one of ours; links between PCIe switches (<pcilink>) and to CPUs (NVLink of
// POWER) are noted and left out.
// Errors (Failure::input, with line): malformed XML, another document than a topology, unknown elements, missing or
// impossible attributes, a bus id twice or below itself, GPUs of another vendor, NVLinks of differing counts, a count
// of zero.
NodeInventory read_nccl_xml(std::string_view text, const std::string& source);

// The matrix of `nvidia-smi topo -m`, tab or blank separated, with or without NIC rows' affinities, legend and NIC
// names below; terminal escapes are dropped. Cells: X, NV#, PIX, PXB, PHB, NODE, SYS (SOC of old drivers). The matrix
// says classes, never rates: the model says how many links make a switch. Every pair with the same NV#, equal to the
// links of `model`: an NVSwitch; else a mesh. PCIe between GPUs that show NV# is hidden: their switches follow from
// what both say of the NICs and from the NUMA column. Errors (Failure::input, with line): no matrix, a row or cell
// missing or unknown, an asymmetric pair, NV0, classes that no tree of switches and sockets can have.
NodeInventory read_smi_matrix(std::string_view text, const std::string& source, const GpuModel& model);

// True when the text is no XML but holds a header line of such a matrix.
bool looks_like_smi_matrix(std::string_view text);

}  // namespace shardsim
