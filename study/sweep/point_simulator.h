#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/workers.h"
#include "sim/lower/known_shares.h"
#include "study/notes/without_duplicates.h"
#include "study/sweep/kept_plan.h"
#include "study/sweep/point_cases.h"
#include "study/sweep/point_result.h"

namespace shardsim {

// Simulates the points of a sweep, one after the other in one process: each to the same bits as `shardsim run` of its
// case. A fault in a point is its result and no error.
class PointSimulator {
 public:
  explicit PointSimulator(const Sweep& sweep)  // which outlives it
      : sweep_(sweep),
        digest_(sweep_digest(sweep_identity(sweep))),
        cases_(sweep),
        judge_(std::make_shared<const IterationJudge>()),
        shares_(std::make_shared<KeptShares>(KeptShares::Tried::kept)) {}

  // Makes the plans that these points keep, each once, so that processes that are forked afterwards have them. A plan
  // that cannot be made is left to the points that ask for it.
  void make_kept_plans(const std::vector<std::uint32_t>& points, const WorkerOptions& workers);

  PointResult simulate(std::size_t point);

  // The point with index_dedup of its sequences, its plan kept; nothing where that is not asked, as of a run. Once for
  // a network that allows one engine in a process. Errors: those of the point.
  std::optional<WithoutDuplicates> without_duplicates(std::size_t point);

  // As PointCases::group_of().
  std::uint64_t group_of(std::size_t point) const { return cases_.group_of(point); }

 private:
  using KeptKey = std::vector<std::size_t>;  // PointCases::kept_key
  struct Kept {
    KeptPlan plan;
    int world_size = 0;
  };
  PointResult simulated(std::size_t point);
  KeptPlan& plan_for(const Case& item, std::size_t point);
  Kept& kept_for(std::size_t point);
  Kept& keep(const KeptKey& key, Plan plan, int world_size);

  const Sweep& sweep_;
  std::uint64_t digest_;
  PointCases cases_;
  std::shared_ptr<const IterationJudge> judge_;
  std::shared_ptr<KeptShares> shares_;
  std::map<KeptKey, Kept> kept_;
  std::optional<KeptPlan> made_;      // the last one, where a plan is made for each point
  std::map<KeptKey, Error> refused_;  // why there is no such plan
};

}  // namespace shardsim
