#include "python/core/rater.h"

#include "plan/check.h"
#include "plan/constraints.h"

namespace shardsim::python {

Rater::Rater(const Request& request, const std::string& case_name)
    : chosen_(std::make_unique<const ChosenCase>(chosen_case(request, case_name))),
      cluster_(std::make_shared<const Cluster>(cluster_of(chosen_->item()))),
      memory_(make_memory_model(chosen_->item().memory_model)) {}

double Rater::iteration_ms(const std::string& plan_json) {
  const Case& item = chosen_->item();
  return done_in_case(item, [&] {
    Plan plan = given_plan(plan_json, item, *cluster_);
    check_constraints(plan, item.workload, item.constraints, "the proposal");
    check_memory(plan, item.workload, *cluster_, *memory_);
    if (prepared_) {
      PreparedCase next = prepared_->with_plan(std::move(plan));
      const double ms = simulated_ms(next);
      prepared_.emplace(std::move(next));
      return ms;
    }
    prepared_.emplace(chosen_->scenario, item, cluster_, std::move(plan));
    return simulated_ms(*prepared_);
  });
}

}  // namespace shardsim::python
