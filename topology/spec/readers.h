#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topology/spec/cluster_spec.h"

namespace shardsim {

// The readers of a cluster file's maps, one per noun; read_cluster() joins them. All throw input errors with place.
// `sources` collects the sourced values of list entries (a MapReader hands its own on to the maps inside it).

using Sources = std::vector<SourcedValue>;

GpuSpec read_gpu(MapReader reader, const std::string& device, Sources* sources);
HostSpec read_host(MapReader reader);
NvlinkSpec read_nvlink(MapReader reader, const GpuSpec& gpu, const std::string& nccl);
PcieSpec read_pcie(MapReader reader, int gpu_count, const std::optional<NicSpec>& nics, Sources* sources);
NicSpec read_nics(MapReader reader, int gpu_count);
FabricSpec read_fabric(MapReader reader);
void read_graph(MapReader reader, ClusterSpec& spec);  // fills graph_one_node and graph_multi_node
void read_overheads(MapReader reader, ClusterSpec& spec);
std::vector<FaultSpec> read_faults(const std::vector<Tree>& list, Sources* sources);

// The PCIe tree of the short form: one switch per NIC with its GPUs, switches dealt in equal blocks to the sockets.
std::vector<PcieSpec::Switch> short_pcie_tree(int gpu_count, const std::optional<NicSpec>& nics, int sockets);

// A count of at least 1 and at most `most`.
int small_count(MapReader& reader, std::string_view key, int most);
int small_count(MapReader& reader, std::string_view key, int most, int fallback);

// Whole numbers in [0, end), each `what` ("GPU", "NIC").
int read_index(const Tree& tree, int end, const std::string& what);
std::vector<int> read_indices(const Tree& list, int end, const std::string& what);

}  // namespace shardsim
