#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

struct ClusterSpec;
struct GpuSpec;

// The NVLinks of a model that is known by its likeness to another one alone.
inline constexpr int kUnknownLinks = -1;

// The data sheet of a GPU model, which no dump of a node's topology holds.
struct GpuModel {
  std::string_view name;
  int capability;        // 80 for 8.0
  std::string_view hbm;  // as a cluster file writes it
  std::string_view hbm_bandwidth;
  std::string_view l2;
  int sm_count;
  int nvlinks;                                 // 0: none
  int pcie_generation;                         // of its slot
  std::string_view flops;                      // map of rates as a cluster file writes it, dense, without sparsity
  std::vector<std::string_view> pci_ids = {};  // device ids of vendor 0x10de
};

std::span<const GpuModel> gpu_models();

// By name, or by what nvidia-smi prints ("NVIDIA H100 NVL"); upper and lower case are alike. Errors (Failure::input,
// place "argument --gpu"): unknown, lists the known ones.
const GpuModel& find_gpu_model(const std::string& name);

// The same, and null when unknown.
const GpuModel* known_gpu_model(std::string_view name);

// The product of a model, without board and memory: "A100" of "A100-SXM4-80GB", "RTX-PRO-6000" of
// "RTX-PRO-6000-SERVER". Words before the first number are a part of it, where there is one.
std::string gpu_product_of(std::string_view model);

// By PCI device id ("0x20b0"); null when unknown.
const GpuModel* gpu_model_of_pci_id(std::string_view device);

// The GPU as a cluster file has it that states what it must (model, count, memory, rates of the data sheet) and nothing
// else: the defaults of its model.
GpuSpec usual_gpu(const GpuSpec& gpu);
// The same beside the copy bandwidth that `gpu` has, from which that of an unknown product's L2 follows.
GpuSpec usual_gpu_beside_copies(const GpuSpec& gpu);

// True for GPUs that their boards always join by NVLink (SXM, Grace superchips): a description without NVLinks hides
// them.
bool has_nvlink_board(std::string_view model);

// True for a node of several such GPUs whose file has no NVLinks: mostly a hole in the file, not in the machine.
bool lacks_nvlink(const ClusterSpec& spec);

// True for superchips of a Grace CPU and a GPU.
bool has_grace(std::string_view model);

// The first model of a compute capability; null when unknown.
const GpuModel* gpu_model_of_capability(int capability);

// False for GeForce GPUs of the series 40 and 50, to which NVIDIA's driver gives no direct copies
// (NVIDIA/nccl-tests#117 and #287): they meet in the memory of the host. A file may name them as the catalogue does, as
// nvidia-smi prints them, or as people write them.
bool has_peer_to_peer(std::string_view model);

// The vendor of a GPU by the name that its driver prints: "AMD" of "AMD Instinct MI300X" and "gfx942"; "" for the GPUs
// of NVIDIA, and for names that say no other vendor.
std::string foreign_gpu_vendor(std::string_view name);

// Errors (Failure::input): a GPU of another vendor, which no model here is of; `option` named it.
void refuse_foreign_gpu(const std::string& name, const std::string& option);

}  // namespace shardsim
