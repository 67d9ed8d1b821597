#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "models/workload/workload.h"
#include "plan/plan.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// Why a placement has no copies in sharding groups, what TorchRec's 2D parallelism has not or what is not simulated
// with it: an error at the place of the workload's `sharding_groups`. None where it may have them.
std::optional<Error> refused_in_groups(const Placement& placement, const Workload& workload);

// The world of 2D parallelism (ShardingGroups of the workload): equal groups of ranks, each of which holds all tables
// by the same plan. A plan is made for the positions 0 .. size() - 1 of one group, and is then that of the world, with
// a list of holders for every group.
class GroupedWorld {
 public:
  // None where all ranks are one group. Errors (Failure::input, at the place of the key): groups that do not divide the
  // world, or whose ranks do not lie evenly on its nodes.
  static std::optional<GroupedWorld> of(const Workload& workload, const Cluster& cluster);

  int size() const { return size_; }  // ranks of a group
  int groups() const { return groups_; }
  int rank(int group, int position) const {
    return consecutive_ ? group * size_ + position : position * groups_ + group;
  }
  int position(int rank) const { return consecutive_ ? rank % size_ : rank / groups_; }
  std::vector<std::vector<int>> sharding_sets() const;  // the ranks of each group
  std::vector<std::vector<int>> replica_sets() const;   // of each position: the ranks that hold the same

  // The machine that one group is to its planner: its GPUs of each node, with their part of the NICs and of the host.
  const Cluster& cluster() const { return *cluster_; }

  // True when the plan is one of the world, with holders in every group.
  bool has(const Plan& plan) const;
  Plan of_world(const Plan& of_group) const;
  Plan of_group(const Plan& of_world) const;
  Placement of_group(const Placement& of_world) const;

  // By rank of the world, of what each position of a group has.
  template <typename Value>
  std::vector<Value> of_ranks(const std::vector<Value>& by_position) const {
    std::vector<Value> by_rank;
    for (int rank = 0; rank < size_ * groups_; ++rank)
      by_rank.push_back(by_position[static_cast<std::size_t>(position(rank))]);
    return by_rank;
  }

 private:
  GroupedWorld(const ShardingGroups& groups, const Cluster& world);

  int size_, groups_;
  bool consecutive_;
  std::shared_ptr<const Cluster> cluster_;
};

}  // namespace shardsim
