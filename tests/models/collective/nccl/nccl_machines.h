#pragma once

#include <string>

#include "models/collective/nccl/cost.h"
#include "tests/models/test_clusters.h"

// The nodes of which graphs and times are known, through the reader of cluster files.
namespace shardsim::test {

inline std::string nccl_2_14() {
  return "nccl: \"2.14\"\n";
}

inline std::string switched(int nodes, int gpus, const std::string& capability, int links) {
  return header(nodes) + gpu_line(gpus, capability) +
         fmt::format("nvlink: {{kind: switch, links_per_gpu: {}}}\n", links);
}

inline std::string nics(const std::string& map) {
  return "nics: {" + map + "}\n";
}

// DGX A100 class, AMD hosts, PCIe Gen4.
inline std::string a100(int nodes, int gpus = 8, const std::string& nic = "per_gpu: 1, rate: \"200 Gbit/s\"") {
  return switched(nodes, gpus, "8.0", 12) + nics(nic);
}

// HGX H100 class, PCIe Gen5.
inline std::string h100(int nodes, int gpus = 8, const std::string& nic = "per_gpu: 1, rate: \"400 Gbit/s\"") {
  return switched(nodes, gpus, "9.0", 18) + "pcie: {generation: 5, cpu: {vendor: intel, model: Sapphire Rapids}}\n" +
         nics(nic);
}

inline std::string mesh(int nodes, int gpus, const std::string& capability, int links_per_gpu,
                        const std::string& links) {
  return header(nodes) + gpu_line(gpus, capability) +
         fmt::format("nvlink: {{kind: mesh, links_per_gpu: {}, links: {}}}\n", links_per_gpu, links);
}

// One 8 x V100 node as in the published nvidia-smi matrix of an 8 x V100 server.
inline std::string v100_cube() {
  return mesh(1, 8, "7.0", 6,
              "[[0, 1, 1], [0, 2, 1], [0, 3, 2], [0, 6, 2], [1, 2, 2], [1, 3, 1], [1, 7, 2], [2, 3, 2], [2, 4, 1], "
              "[3, 5, 1], [4, 5, 2], [4, 6, 1], [4, 7, 2], [5, 6, 2], [5, 7, 1], [6, 7, 1]]");
}

// Four A100 with four links per pair.
inline std::string a100_four(int nodes, const std::string& nic) {
  return mesh(nodes, 4, "8.0", 12, "[[0, 1, 4], [0, 2, 4], [0, 3, 4], [1, 2, 4], [1, 3, 4], [2, 3, 4]]") + nics(nic);
}

// One GPU and one NIC per node.
inline std::string single(int nodes, const std::string& capability, int generation, const std::string& rate) {
  return header(nodes) + gpu_line(1, capability) + fmt::format("pcie: {{generation: {}}}\n", generation) +
         nics("per_gpu: 1, rate: \"" + rate + "\"");
}

// All ranks of a cluster as one communicator.
inline NcclSetup world(const std::string& yaml) {
  const Cluster cluster = cluster_from(yaml);
  return nccl_setup(ranks_from(0, cluster.world_size()), cluster);
}

inline std::string choice(const NcclTime& time) {
  return fmt::format("{} {}", nccl_algorithm_name(time.algorithm), nccl_protocol_name(time.protocol));
}

}  // namespace shardsim::test
