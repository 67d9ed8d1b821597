#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "plan/planner.h"

namespace shardsim::search {

// Iterations this close count as equal, because predictions are off by more. Among such plans the one that leaves most
// memory is taken.
inline constexpr double kNearTie = 0.02;

// A plan that a search may return.
struct Candidate {
  std::string name;  // of the planner that it is from; "search" of its own ones
  Plan plan;
  double estimate = 0;  // seconds, by the closed form of the lowered plan
  std::optional<double> simulated = {};
  double quick = 0;       // seconds, by the formula of the search
  std::int64_t over = 0;  // bytes that the fullest GPU lacks at its simulated peak; negative: has left
  double seconds() const { return simulated.value_or(estimate); }
};

// True when the plan fits by the memory model.
bool has_room(const Plan& plan, const Workload& workload, const Cluster& cluster, const MemoryModel& memory);

// The plans that a search found or began with, judged by simulation. The context needs an estimate, which stands for
// the time where there are no trials.
class Candidates {
 public:
  Candidates(const Workload& workload, const Cluster& cluster, const PlannerContext& context)
      : workload_(workload), cluster_(cluster), context_(context) {}

  // Leaves out what is known, does not fit by the memory model, or is refused by the simulation.
  void add(const std::string& name, Plan plan, double quick);
  const std::vector<Candidate>& all() const { return candidates_; }

  // Plans that cannot be simulated, by their planners, and why; each planner once.
  using Refusal = std::pair<std::string, Error>;
  void refuse(const std::string& name, const Error& error);
  const std::vector<Refusal>& refusals() const { return refusals_; }
  void throw_if_refused() const;  // errors: that of the first one that was

  std::int64_t simulations() const;  // plans that were simulated

  // Tells the context's host how the best one was found: `evaluations` by the formula of the search, `simulations` with
  // those of a search within this one.
  void tell(const Candidate& best, std::int64_t evaluations, std::int64_t simulations) const;

  // Simulates all plans that may be the fastest, and those of the search's own that are nearly as fast. Errors: that of
  // the first one that was refused, where none is left.
  void judge();

  // By how much the memory model has to be undercut, because a plan that would be the fastest needs more than a GPU has
  // at its peak; 0: none does.
  std::int64_t lacking_bytes() const;
  // Errors: Failure::infeasible, at `place`, with the least bytes that any judged plan lacks.
  [[noreturn]] void throw_over_peak(const Place& place) const;

  // Null: none.
  const Candidate* best_start() const;
  // The best of the plans that are nearly the fastest, no slower than any that the search started from; null: none fits
  // at its peak.
  const Candidate* best() const;

 private:
  void simulate(Candidate& candidate) const;
  void simulate_near_ties();
  const Candidate* fastest() const;
  std::int64_t lack_of_room(const Candidate& each) const;
  bool is_better(const Candidate& a, const Candidate& b) const;

  const Workload& workload_;
  const Cluster& cluster_;
  const PlannerContext& context_;
  std::vector<Candidate> candidates_;
  std::vector<Refusal> refusals_;
};

}  // namespace shardsim::search
