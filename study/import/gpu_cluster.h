#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardsim {

// A shipped cluster for a GPU that a program names as its driver does.
struct GpuCluster {
  std::string cluster;
  std::string gpu;                                        // in the catalogue of GPUs
  std::vector<std::pair<std::string, std::string>> keys;  // of the cluster's `gpu`, where its memory is another one
  std::string said;                                       // how the two differ, a sentence; "" where they do not
};

// The usual cluster of the GPU: one that has this model, else one whose GPU differs in its memory alone. `memory` is
// what the program sees of it in bytes, 0 where it does not say so. Nothing where no shipped cluster has such a GPU, or
// the name is not in the catalogue.
std::optional<GpuCluster> gpu_cluster(const std::string& printed, std::int64_t memory);

// The shipped cluster for a model of the catalogue; "" for those that no cluster has.
std::string_view cluster_of_model(std::string_view model);

}  // namespace shardsim
