#include "python/core/evaluator.h"

#include "plan/plan_file.h"
#include "plan/torchrec_types.h"
#include "python/core/watch.h"
#include "study/confidence/iteration_judge.h"
#include "study/planning/prepared_case.h"

namespace shardsim::python {
namespace {

// Read once for a process: the table of published errors is the same for all of its cases.
std::shared_ptr<const IterationJudge> judge() {
  static const auto shared = std::make_shared<const IterationJudge>();
  return shared;
}

}  // namespace

Evaluator::Evaluator(ChosenCase of, Plan plan, std::vector<std::string> notes)
    : own_(std::move(of)),
      plan_json_(plan_to_json(plan, own_.item().workload, cluster_of(own_.item()))),
      notes_(std::move(notes)) {
  kept_ = std::make_unique<KeptPlan>(std::move(plan), judge());
}

Evaluator Evaluator::planned(const Request& request, const std::string& case_name) {
  ChosenCase chosen = chosen_case(request, case_name);
  std::vector<std::string> notes;
  const PlanWatch watch{interrupted_in_python(), [&](const std::string& note) { notes.push_back(note); }};
  Plan plan = make_plan(chosen.item(), cluster_of(chosen.item()), chosen.scenario->seed, watch);
  return {std::move(chosen), std::move(plan), std::move(notes)};
}

Evaluator Evaluator::given(const Request& request, const std::string& case_name, const std::string& plan_json) {
  ChosenCase chosen = chosen_case(request, case_name);
  Plan plan = given_plan(plan_json, chosen.item(), cluster_of(chosen.item()));
  return {std::move(chosen), std::move(plan), {}};
}

Evaluator::Figures Evaluator::figures_of(const Case& item) {
  Figures result;
  result.name = item.name;
  result.world_size = item.cluster.nodes * item.cluster.gpu.count;
  result.batch_per_gpu = item.workload.batch_per_gpu;
  result.beyond_torchrec = beyond_torchrec(kept_->plan(), item.workload, row_ranks(item.workload, item.cluster));
  result.figures = done_in_case(item, [&] { return kept_->figures(item); });
  return result;
}

}  // namespace shardsim::python
