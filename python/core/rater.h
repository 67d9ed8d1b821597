#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/memory_model.h"
#include "plan/sharding_groups.h"
#include "python/core/request.h"
#include "study/planning/prepared_case.h"

namespace shardsim::python {

// The iteration of one case under plan after plan: what does not depend on the plan is made once.
class Rater {
 public:
  Rater(const Request& request, const std::string& case_name);

  // The entry of one table in a plan of TorchRec's JSON form.
  struct Entry {
    std::string module, table;
    std::string json;
  };
  // Milliseconds of an iteration with the plan of these entries; those of `shardsim run` for expected batches. An entry
  // that was there before is not read again. Errors: those of given_plan() and of a simulation; Failure::infeasible for
  // a plan that does not fit in memory.
  double iteration_ms(const std::vector<Entry>& entries);
  // Ranks of each node that a plan is made for: of 2D parallelism those of one group.
  int ranks_per_node() const { return cluster_of_plan(chosen_->item()).ranks_per_node(); }

 private:
  Plan plan_of(const std::vector<Entry>& entries);
  const Plan& part_of(const Entry& entry);
  const Cluster& cluster_of_entries() const { return groups_ ? groups_->cluster() : *cluster_; }

  std::unique_ptr<const ChosenCase> chosen_;  // which prepared_ points into
  std::shared_ptr<const Cluster> cluster_;
  std::unique_ptr<const MemoryModel> memory_;
  std::optional<GroupedWorld> groups_;
  std::unordered_map<std::string, Plan> parts_;  // of entries by all that they say
  std::optional<PreparedCase> prepared_;         // with the plan that came last
};

}  // namespace shardsim::python
