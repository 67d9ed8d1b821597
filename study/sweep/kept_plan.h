#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "plan/plan.h"
#include "sim/engine/engine.h"
#include "study/confidence/iteration_judge.h"
#include "study/scenario/scenario.h"

namespace shardsim {

class KeptShares;

// The figures of one simulation for somebody who compares thousands of them.
struct PointFigures {
  double iteration_ms = 0;           // of drawn batches the mean
  Interval interval;                 // of iteration_ms, as IterationJudge::wordless_interval() has it
  double samples_per_s = 0;          // of all ranks
  Utilisation limit;                 // the busiest link or rank
  std::int64_t memory_bytes = 0;     // of the fullest rank, by the case's memory model
  std::int64_t peak_bytes = 0;       // of the fullest rank, at its simulated peak (MemoryProfile)
  bool buffers_counted = true;       // by the memory model
  std::int64_t memory_capacity = 0;  // of a rank
  bool operator==(const PointFigures&) const = default;
};

// A plan that stays while clusters, batches and whatever else of a case changes: asked for case after case, it says of
// each what `shardsim run` would say with this plan, to the last bit, and makes no process. Parts that two cases have
// in common are made once, whatever the order of the cases: the Cluster of a cluster file, the Program of a workload on
// as many nodes, the shares of cut rows, the seconds of compute operations. A comparison of all inputs of a part tells
// whether two cases have it in common, not what a sweep says that it changes.
class KeptPlan {
 public:
  // `shares`: of the rows of its tables, for all plans that are asked one after the other; none: its own.
  // `most_program_bytes`: that the Programs of all cases take together, roughly.
  static constexpr std::size_t kMostProgramBytes = std::size_t{128} << 20;

  KeptPlan(Plan plan, std::shared_ptr<const IterationJudge> judge, std::shared_ptr<KeptShares> shares = nullptr,
           std::size_t most_program_bytes = kMostProgramBytes);
  ~KeptPlan();
  KeptPlan(KeptPlan&&) noexcept;
  KeptPlan& operator=(KeptPlan&&) noexcept;

  const Plan& plan() const;

  // At the planned payload. The network `simgrid`, which allows one engine in a process, runs in one of its own.
  // Errors: Failure::input for a plan that does not suit the case's tables, ranks or constraints, and for one of
  // several jobs; Failure::infeasible for one that does not fit in memory; those of a simulation.
  PointFigures figures(const Case& item);

 private:
  class Store;
  std::unique_ptr<Store> store_;
};

}  // namespace shardsim
