#pragma once

#include <string>
#include <vector>

namespace shardsim {

// A time on a cluster, to be compared with others.
struct TimeOnCluster {
  std::string cluster;    // its name
  std::string transport;  // of its network between nodes
  std::string asked;      // what else decides the time: workload, batch, GPUs, plan; alike where the texts are
  double ms = 0;
};

// Sentences on clusters of different names whose times are the same to the last bit, each pair once: the model has
// nothing that tells them apart, and that is no evidence that they are equally fast.
std::vector<std::string> alike_clusters(const std::vector<TimeOnCluster>& times);

}  // namespace shardsim
