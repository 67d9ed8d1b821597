#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "study/scenario/scenario.h"
#include "study/sweep/sweep.h"

namespace shardsim {

// True when an axis of this path says how a plan is made ("planner", "memory_model.name"), and not what for.
bool is_of_plan(const std::string& path);

// The cases of a sweep's points. Points that differ in few paths share what is read of the others: a cluster or a
// workload is read once for all points that have the same.
class PointCases {
 public:
  // `sweep` outlives it. Errors (Failure::input): an axis over what no point can change ("jobs", "published").
  explicit PointCases(const Sweep& sweep);

  // Named "point N". Errors: Failure::input as read_case(), naming what the point gives.
  Case at(std::size_t point);
  // The case whose plan a point keeps where the sweep says so: the axes of planners alone have changed it.
  Case kept_case(std::size_t point);
  // Returns the key that tells such cases apart: points of one key keep one plan.
  std::vector<std::size_t> kept_key(std::size_t point) const;

  // Returns the number that points have in common which differ in the rates of links alone, as far as the paths of
  // their axes tell: they are simulated from the same Programs. Numbers are near each other where plan and tables are
  // the same.
  std::uint64_t group_of(std::size_t point) const;

  // The value on each dimension; none: as the base has it.
  using Coordinates = std::vector<std::optional<std::size_t>>;
  Coordinates all_of(std::size_t point) const;
  // Returns the fault of the case there (Failure::input); nothing where it can be read.
  std::optional<Error> failure_at(const Coordinates& at);

 private:
  enum class Part { cluster, workload, plan, rest };
  template <typename Value>
  using Known = std::map<Coordinates, std::shared_ptr<const Value>>;

  Case read(const Coordinates& at) { return read(at, edited(at)); }
  Case read(const Coordinates& at, const CaseTree& tree);  // named as the base, so that points that fail alike say so
  CaseTree edited(const Coordinates& at);                  // without its cluster and its workload
  // Returns those of these coordinates that are on dimensions which change the part.
  Coordinates of_part(const Coordinates& at, Part part) const;
  void edit(CaseTree& tree, const Coordinates& at, Part part);
  const ClusterSpec& cluster_at(const Coordinates& at);
  const Workload& workload_at(const Coordinates& at);
  static Part part_of(const Axis& axis);

  const Sweep& sweep_;
  CaseTree rest_;                      // the base without its cluster and its workload
  std::vector<std::size_t> grouping_;  // dimensions that tell groups apart, the one that changes most of a case first
  LoadedTrees loaded_;
  Known<ClusterSpec> clusters_;
  Known<Workload> workloads_;
};

}  // namespace shardsim
