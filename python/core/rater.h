#pragma once

#include <memory>
#include <optional>
#include <string>

#include "plan/memory_model.h"
#include "python/core/request.h"
#include "study/planning/prepared_case.h"

namespace shardsim::python {

// The iteration of one case under plan after plan: what does not depend on the plan is made once.
class Rater {
 public:
  Rater(const Request& request, const std::string& case_name);

  // Milliseconds of an iteration with this plan, in TorchRec's JSON form; those of `shardsim run` for expected batches.
  // Errors: those of given_plan() and of a simulation; Failure::infeasible for a plan that does not fit in memory.
  double iteration_ms(const std::string& plan_json);
  // Ranks of each node that a plan is made for: of 2D parallelism those of one group.
  int ranks_per_node() const { return cluster_of_plan(chosen_->item()).ranks_per_node(); }

 private:
  std::unique_ptr<const ChosenCase> chosen_;  // which prepared_ points into
  std::shared_ptr<const Cluster> cluster_;
  std::unique_ptr<const MemoryModel> memory_;
  std::optional<PreparedCase> prepared_;  // with the plan that came last
};

}  // namespace shardsim::python
