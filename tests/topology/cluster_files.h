#pragma once

#include <string>

#include "base/tree/yaml.h"
#include "tests/base/error_text.h"
#include "topology/graph/cluster.h"

namespace shardsim::testing {

inline std::string cluster_file(const std::string& name) {
  return std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/clusters/" + name;
}

// The shipped file with its base merged, as scenarios do it.
inline Tree shipped_tree(const std::string& file) {
  Tree tree = read_yaml_file(cluster_file(file));
  const Tree* base = tree.find("base");
  return base == nullptr ? tree : merged(shipped_tree(base->scalar), tree);
}

inline ClusterSpec shipped(const std::string& name) {
  return read_cluster(shipped_tree(name + ".yaml"));
}

inline ClusterSpec spec_of(const std::string& text) {
  return read_cluster(parse_yaml(text, "test.yaml"));
}

inline Cluster cluster_of(const std::string& text) {
  return Cluster(spec_of(text));
}

// The keys that every cluster file must have; add others below it.
inline std::string least_cluster(int gpus, const std::string& capability = "8.0") {
  return "schema: shardsim.cluster/1\nname: test\ngpu: {model: A100-SXM4-40GB, count: " + std::to_string(gpus) +
         ", compute_capability: \"" + capability +
         "\", hbm: \"40 GiB\", hbm_bandwidth: \"1555 GB/s\", flops: {fp32: \"19.5 TFLOP/s\"}}\n";
}

inline double gbps(Bandwidth rate) {
  return rate.bytes_per_second / 1e9;
}

}  // namespace shardsim::testing
