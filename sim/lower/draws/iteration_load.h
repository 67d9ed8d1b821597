#pragma once

#include <map>
#include <utility>
#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// Bytes that all owners of one set of holders move for one placement together, of those that follow their shares.
struct OwnerBytes {
  double memory = 0;    // rows and their gradients; as bytes of device memory that take as long
  double asked = 0;     // that owners receive: ids, and gradients of sequences
  double answered = 0;  // that owners send: vectors of sequences. Partial sums of bags are as many whatever the shares
};

// The same of each rank for all placements.
struct OwnedByRank {
  struct Exchange {
    std::vector<double> asked, answered;  // [rank]
  };
  std::vector<double> memory;                                      // [rank]
  std::map<std::pair<Strategy, TableKind>, Exchange> exchanges{};  // of each fusion group
};

// How long the parts of an iteration take that depend on where rows lie, in one number that tells placements of rows
// apart (sim/lower/draws/row_draws.h): lookups take as long as on the fullest rank, and the exchange of each fusion
// group as long as at its busiest port. In bytes of device memory that take as long, at the same ratio of memory,
// NVLink and NICs for every cluster: so clusters that differ in rates are compared with their rows in the same places.
class IterationLoad {
 public:
  // The shape of the cluster alone counts: nodes, and GPUs of a node.
  explicit IterationLoad(const Cluster& cluster) : nodes_(cluster.nodes()), per_node_(cluster.ranks_per_node()) {}

  // `lookups`: that all owners of a set have, of the batches of all whom the set serves.
  OwnerBytes of(const Placement& placement, const Workload& workload, double lookups) const;
  // Returns what these bytes are worth if one owner had them all.
  double worth(const OwnerBytes& bytes, Strategy strategy) const;

  OwnedByRank none() const;
  double load(const OwnedByRank& bytes) const;

 private:
  int world() const { return nodes_ * per_node_; }
  double weight_in_node() const;
  double weight_between() const;
  double busiest_node(const std::vector<double>& bytes) const;

  int nodes_, per_node_;
};

}  // namespace shardsim
