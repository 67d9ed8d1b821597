#pragma once

#include "topology/spec/cluster_spec.h"

namespace shardsim {

// A cluster file counts hosts: `nodes` of them with `gpu.count` GPUs each, of which `nvlink.domain` GPUs are on one
// NVSwitch. A ClusterSpec counts domains, since bytes know no hosts inside one: a node of it is a domain.

// From what a file says to domains. A domain that is one host is none. Errors: Failure::input for a domain larger than
// the cluster or than kMostGpusPerNode, one that hosts do not fill, a leaf that cuts through one, stated channels.
void join_hosts(ClusterSpec& spec);

// The way back, for writing.
void part_hosts(ClusterSpec& spec);

// 1 but for domains over several hosts.
int hosts_per_node(const ClusterSpec& spec);

}  // namespace shardsim
