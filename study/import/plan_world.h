#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/tree/tree.h"

namespace shardsim {

// One of the groups of a two-dimensional plan (TorchRec's DMPCollection): its ranks hold the tables, and other groups
// hold copies. Its ranks are every `stride`th of the job, or, with stride 1, a block of them.
struct PlanGroup {
  int first = 0, stride = 1, size = 0;
};

// Holds what the ranks and devices of a plan say about the job that it is of.
struct PlanWorld {
  int per_host = 0;  // GPUs, by the numbers of devices; 0: the plan does not say
  int domain = 0;    // GPUs of several hosts over which a table is cut that is to lie on one; 0: there is none
  std::string over_hosts = {};  // that table
  std::optional<PlanGroup> group = {};
};

// Reads a plan in the shape of a plan file. Ranks, shards and placements that are none are left to its reader.
PlanWorld world_of(const Tree& plan);

// The plan with the ranks of its group alone, from 0, on hosts that hold no others.
Tree plan_of_group(Tree plan, PlanWorld& world);

// The plan with the devices of nodes of `per_node` GPUs, where they are those of hosts of `per_host`; other devices are
// left to the reader, which refuses them.
Tree plan_on_nodes(Tree plan, int per_host, int per_node);

// Returns what is said to the user of such a world; "" for the usual one.
std::string world_text(const PlanWorld& world);

}  // namespace shardsim
