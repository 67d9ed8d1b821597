#include <memory>
#include <optional>
#include <string>

#include "plan/plan_file.h"
#include "plan/torchrec_types.h"
#include "python/core/bindings.h"
#include "python/core/request.h"
#include "study/confidence/iteration_judge.h"
#include "study/planning/prepared_case.h"
#include "study/sweep/kept_plan.h"

namespace shardsim::python {
namespace {

// Read once for a process: the table of published errors is the same for all of its cases.
std::shared_ptr<const IterationJudge> judge() {
  static const auto shared = std::make_shared<const IterationJudge>();
  return shared;
}

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

py::dict figures_dict(const Evaluator::Figures& of) {
  py::dict dict;
  dict["name"] = of.name;
  dict["iteration_ms"] = of.figures.iteration_ms;
  dict["interval"] = interval_dict(of.figures.interval);
  dict["samples_per_s"] = of.figures.samples_per_s;
  dict["world_size"] = of.world_size;
  dict["batch_per_gpu"] = of.batch_per_gpu;
  dict["memory_bytes"] = of.figures.memory_bytes;
  dict["peak_bytes"] = of.figures.peak_bytes;
  dict["memory_capacity_bytes"] = of.figures.memory_capacity;
  dict["limited_by"] = of.figures.limit.what;
  dict["limit_share_pct"] = 100 * of.figures.limit.share;
  dict["beyond_torchrec"] = of.beyond_torchrec;
  return dict;
}

}  // namespace

void bind_evaluator(py::module_& module) {
  py::class_<Evaluator>(module, "Evaluator")
      .def_static(
          "planned",
          [](const Request& request, const std::string& name) {
            return without_gil([&] { return Evaluator::planned(request, name); });
          },
          py::arg("request"), py::arg("case"))
      .def_static(
          "given",
          [](const Request& request, const std::string& name, const std::string& plan) {
            return without_gil([&] { return Evaluator::given(request, name, plan); });
          },
          py::arg("request"), py::arg("case"), py::arg("plan"))
      .def(
          "figures",
          [](Evaluator& evaluator, const Request& request, const std::string& name) {
            return figures_dict(without_gil([&] { return evaluator.figures(request, name); }));
          },
          py::arg("request"), py::arg("case"))
      .def("own_figures",
           [](Evaluator& evaluator) { return figures_dict(without_gil([&] { return evaluator.figures(); })); })
      .def("plan_json", &Evaluator::plan_json)
      .def("notes", &Evaluator::notes);
}

}  // namespace shardsim::python
