#pragma once

#include <string>
#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// TorchRec's serialised plan shape, with the extension for row tiers (docs/formats/plan.md).
// `access_share` of every tier is written for people; what is read must be a share, and is not used.
std::string plan_to_json(const Plan& plan, const Workload& workload, const Cluster& cluster);

// Errors: Failure::input with the line: unknown table or type, rows or ranks that do not fit. Call check_plan after.
// `places` gets the place of each table's entry.
Plan plan_from_tree(const Tree& tree, const Workload& workload, const Cluster& cluster,
                    std::vector<Place>* places = nullptr);

// The same, checked: what check_plan says of a table has the line of its entry, too.
Plan checked_plan(const Tree& tree, const Workload& workload, const Cluster& cluster, bool nodes_known = true,
                  std::vector<Place>* places = nullptr);
Plan read_plan_file(const std::string& path, const Workload& workload, const Cluster& cluster);

// Path of the module that holds each table of the workload: its pooled or its sequence module. TorchRec's
// EmbeddingCollection has one dimension, so sequence tables of several are in several, MODULE_DIM. A plan may name
// others.
std::vector<std::string> module_paths(const Workload& workload, const Plan& plan = {});

inline constexpr int kUsualGpus = 8;  // of a host

// GPUs of a host, where nobody says how many, of a job of so many ranks: the most that divide them, and 8 at most.
int usual_host(int ranks);

// A plan file read on its own, without the workload and cluster that it was made for.
struct StandalonePlan {
  int tables = 0;
  int ranks = 0;
  int ranks_per_host = 1;  // by the device numbers of its placements
  int highest_device = 0;
  int host_multiple = 0;  // rank and device of each placement differ by multiples of this; 0: nowhere
  bool cpus = false;      // all its shards lie on CPUs
  Plan plan;
  Workload workload;         // its tables, pooled, with one id a sample
  std::vector<int> unsized;  // tables whose size the file does not say (data_parallel); one row and column stand for it

  // True where its placements agree with several hosts of so many GPUs.
  bool fits_hosts_of(int gpus) const {
    const int together = host_multiple > 0 ? host_multiple : ranks;
    return gpus > highest_device && ranks > gpus && together % gpus == 0;
  }
};

// Checks a plan file on its own: tables and world are taken from the file (extents of its shards, highest rank named;
// or `world_size`, where it is not 0). Tables of one name in several modules are called MODULE.NAME, as in a workload.
// Errors: Failure::input with the line, as plan_from_tree and check_plan find them.
StandalonePlan standalone_plan(const Tree& tree);
StandalonePlan standalone_plan(const Tree& tree, int world_size);

}  // namespace shardsim
