#pragma once

#include <map>
#include <memory>
#include <string>

#include "plan/search/iteration_cost.h"
#include "study/planning/placement_outline.h"
#include "tests/physics/lab.h"
#include "tests/plan/hand_context.h"

// The context that planner search gets in a study, with the closed form as the judge.
namespace shardsim::physics {

class SearchLab {
 public:
  SearchLab(const Workload& workload, const Cluster& cluster, const std::string& memory = "paper")
      : memory_(make_memory_model(named(memory))),
        compute_(make_compute_model(named("roofline"))),
        context(*memory_, 1),
        workload_(workload),
        cluster_(cluster) {
    context.load = [this](const Placement& placement) { return placement_load(placement, workload_, cluster_); };
    context.outline = [this](const Plan& plan) {
      return iteration_outline(plan, workload_, cluster_, *compute_, true);
    };
    context.compute = compute_.get();
    context.estimate = [this](const Plan& plan) { return time(plan); };
    context.figure = [this](const std::string& name, double value) { figures[name] = value; };
    context.note = [this](const std::string& note) { notes += note + "\n"; };
  }

  double ms(const Plan& plan) const {
    const auto network = make_network(named("closed_form"));
    return simulate(lower(plan, workload_, cluster_, {}), cluster_, *compute_, *network, {}).timeline.iteration_ms;
  }

  Seconds time(const Plan& plan) const { return {ms(plan) * 1e-3}; }

  Plan plan(const std::string& options) {
    Plan made = make_planner(parse_yaml(options, "test"))->plan(workload_, cluster_, context);
    check_plan(made, workload_, cluster_, Place{"test"});
    return made;
  }

 private:
  std::unique_ptr<MemoryModel> memory_;
  std::unique_ptr<ComputeModel> compute_;

 public:
  HandContext context;
  std::map<std::string, double> figures;
  std::string notes;

 private:
  const Workload& workload_;
  const Cluster& cluster_;
};

}  // namespace shardsim::physics
