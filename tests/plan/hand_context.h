#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/planner.h"

namespace shardsim {

// Answers of a host that a test gives one by one; what it does not give is not answered.
struct HandHost : PlannerHost {
  std::function<PlannerBandwidths()> simulated_bandwidths;
  std::function<PlacementLoad(const Placement&)> load;
  const ComputeModel* compute = nullptr;
  std::string family;  // of kernels()
  std::vector<Plan> known;
  std::function<IterationOutline(const Plan&)> outline;
  std::function<Seconds(const Plan&)> estimate, simulate;
  std::function<PlanTrial(const Plan&)> trial;
  std::function<void(const std::string&)> note, trained_on;
  std::function<void(const std::string&, double)> figure;
  std::function<void()> check_stop;

  bool answers(Question question) const override {
    switch (question) {
      case Question::bandwidths:
        return bool(simulated_bandwidths);
      case Question::loads:
        return load && compute != nullptr;
      case Question::iterations:
        return outline && estimate;
      case Question::simulation:
        return bool(simulate);
      case Question::trial:
        return bool(trial);
    }
    return false;
  }
  PlannerBandwidths bandwidths() const override { return simulated_bandwidths(); }
  PlacementLoad load_of(const Placement& placement) const override { return load(placement); }
  const ComputeModel& compute_model() const override { return *compute; }
  std::string kernels() const override { return family; }
  std::vector<Plan> known_plans() const override { return known; }
  IterationOutline outline_of(const Plan& plan) const override { return outline(plan); }
  Seconds estimated(const Plan& plan) const override { return estimate(plan); }
  Seconds simulated(const Plan& plan) const override { return simulate(plan); }
  PlanTrial tried(const Plan& plan) const override { return trial(plan); }
  bool listens() const override { return bool(figure); }
  void say(const std::string& text) const override {
    if (note) note(text);
  }
  void state(const std::string& name, double value) const override {
    if (figure) figure(name, value);
  }
  void learned_from(const std::string& provider) const override {
    if (trained_on) trained_on(provider);
  }
  void stop_if_asked() const override {
    if (check_stop) check_stop();
  }
};

// The context of a planner whose host is itself.
struct HandContext : HandHost, PlannerContext {
  HandContext(const MemoryModel& of_memory, std::uint64_t of_seed) : PlannerContext{of_memory, of_seed, *this} {}
  HandContext(const HandContext&) = delete;
  HandContext& operator=(const HandContext&) = delete;
};

}  // namespace shardsim
