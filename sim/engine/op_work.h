#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/collective/collective.h"
#include "models/compute/compute_model.h"
#include "program/program.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// An operation with what the engine needs of it: how long it computes on each rank, or what it loads on which link.
struct OpWork {
  // One group of a collective; all groups of an operation run side by side.
  struct Call {
    std::vector<int> ranks;
    CollectiveLoads loads;
    std::vector<std::int64_t> payload;  // [member] larger of bytes sent and received, own chunk included
  };

  std::vector<double> seconds;  // compute: [rank], below 0 where the rank takes no part
  std::vector<Call> calls;      // collective
  Seconds alone;                // of the slowest rank or call, when nothing else runs

  bool is_collective() const { return !calls.empty(); }
};

// The work of a Program's operations in each iteration of a run: the same in all, or in each its own. The rank sets of
// each collective, and the ranks that take part in each operation, are the same in all.
class IterationWorks {
 public:
  IterationWorks(const std::vector<OpWork>& in_all) : kinds_{&in_all} {}  // NOLINT: a list of works is one for all
  explicit IterationWorks(const std::vector<std::vector<OpWork>>& by_iteration) {
    for (const std::vector<OpWork>& works : by_iteration) kinds_.push_back(&works);
  }

  // Whatever differs between iterations is known once per kind of iteration.
  std::size_t kinds() const { return kinds_.size(); }
  std::size_t kind_of(int iteration) const { return kinds_.size() == 1 ? 0 : static_cast<std::size_t>(iteration); }
  const std::vector<OpWork>& of_kind(std::size_t kind) const { return *kinds_[kind]; }
  const OpWork& of(int op, int iteration) const { return (*kinds_[kind_of(iteration)])[static_cast<std::size_t>(op)]; }

 private:
  std::vector<const std::vector<OpWork>*> kinds_;  // they outlive the run
};

// The time of the bytes that an operation moves to or from host memory on the rank at this position among its ranks,
// over the link of its GPU to the host.
Seconds host_link_time(const Op& op, std::size_t position, const ClusterSpec& spec);

// The work of a compute operation on the rank at this position among its ranks, without what only the Program as a
// whole knows about its rows (sim/engine/row_facts.h).
ComputeWork work_of(const Op& op, std::size_t position, const ClusterSpec& spec);

// One OpWork per operation, of compute operations alone: those of collectives are empty.
std::vector<OpWork> expand_compute(const Program& program, const Cluster& cluster, const ComputeModel& compute);
// That of one collective. `algorithms`: collective kind -> algorithm; absent kinds take "auto".
OpWork expand_collective_op(const Op& op, const Program& program, const Cluster& cluster,
                            const std::map<std::string, std::string>& algorithms);

// Both, for all operations.
std::vector<OpWork> expand_ops(const Program& program, const Cluster& cluster, const ComputeModel& compute,
                               const std::map<std::string, std::string>& algorithms);

// Expands the rank sets of one collective one after the other. A set inside one node loads that node's links just as
// the set before it did its own, where it holds the like GPUs, moves the same bytes and the nodes' links have equal
// rates: then the loads are moved to its node, to the last bit what expanding it would give.
class LikeSets {
 public:
  LikeSets(const Cluster& cluster, std::string algorithm) : cluster_(cluster), algorithm_(std::move(algorithm)) {}

  CollectiveLoads expand(const CollectiveCall& call);

 private:
  bool like_the_last(const CollectiveCall& call) const;
  bool equal_rates(int node) const;
  CollectiveLoads moved_to(int node) const;

  const Cluster& cluster_;
  const std::string algorithm_;
  std::vector<int> ranks_;  // of the last set that was expanded inside one node; empty: none
  std::int64_t bytes_ = 0;
  CollectiveLoads loads_;
};

// The reductions of one Program of a case, for the next one of the same case: gradients have as many bytes whatever is
// looked up, and to expand an all-reduce of a large world in every way takes as long as a simulation. Works are moved,
// not copied, so that a large world's loads are in memory once.
class KnownReductions {
 public:
  // Keeps what `works`, those of the Program, have of reductions.
  void keep(const Program& program, std::vector<OpWork> works);
  // Takes out the work of a reduction that moves the same bytes in the same rank sets.
  std::optional<OpWork> take(const Op& op, const Program& program);

 private:
  struct Known {
    Op op;
    OpWork work;
  };
  std::vector<Known> known_;
};

// As expand_ops(), with the reductions that are known of another Program on the same cluster with the same algorithms.
std::vector<OpWork> expand_ops(const Program& program, const Cluster& cluster, const ComputeModel& compute,
                               const std::map<std::string, std::string>& algorithms, KnownReductions& known);

}  // namespace shardsim
