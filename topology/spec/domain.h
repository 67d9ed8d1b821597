#pragma once

#include "topology/spec/cluster_spec.h"

namespace shardsim {

// A cluster file counts hosts: `nodes` of them with `gpu.count` GPUs each, and groups of `nvlink.domain` GPUs on one
// NVSwitch. A ClusterSpec counts domains, because traffic inside a domain does not depend on hosts: a node of a
// ClusterSpec is a domain.

// Converts what a file says to domains. If a domain is a single host, nothing changes. Errors: Failure::input for a
// domain larger than the cluster, one that hosts do not fill, a leaf that cuts through one, stated channels.
void join_hosts(ClusterSpec& spec);

// The way back, for writing.
void part_hosts(ClusterSpec& spec);

// 1 but for domains over several hosts.
int hosts_per_node(const ClusterSpec& spec);

}  // namespace shardsim
