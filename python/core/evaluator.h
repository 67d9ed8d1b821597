#pragma once

#include <memory>
#include <optional>
#include <string>

#include "python/core/request.h"
#include "study/sweep/kept_plan.h"

namespace shardsim::python {

// One plan that is simulated again and again while the scenario around it changes: the KeptPlan of a sweep.
class Evaluator {
 public:
  // The plan of a case, made by its planner or read from its file. Errors: those of make_plan().
  static Evaluator planned(const Request& request, const std::string& case_name);
  // A plan in TorchRec's JSON form (docs/formats/plan.md) for a case. Errors: those of given_plan().
  static Evaluator given(const Request& request, const std::string& case_name, const std::string& plan_json);

  struct Figures {
    std::string name;  // of the case
    int world_size = 0;
    std::int64_t batch_per_gpu = 0;
    std::string beyond_torchrec;  // what of the plan TorchRec does not have; "": it has all
    PointFigures figures;
  };
  // Returns what the plan takes in this case. Errors: those of KeptPlan::figures().
  Figures figures(const Request& request, const std::string& case_name) {
    return figures_of(chosen_case(request, case_name).item());
  }
  // The same in the case that the plan was made for, as it was read then.
  Figures figures() { return figures_of(own_.item()); }

  std::string plan_json() const { return plan_json_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Evaluator(ChosenCase of, Plan plan, std::vector<std::string> notes);
  Figures figures_of(const Case& item);

  ChosenCase own_;
  std::unique_ptr<KeptPlan> kept_;
  std::string plan_json_;
  std::vector<std::string> notes_;  // of the planner
};

}  // namespace shardsim::python
