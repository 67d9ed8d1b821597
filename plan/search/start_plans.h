#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/planner.h"
#include "plan/search/table_choice.h"

namespace shardsim::search {

// A planner that a search starts from, by its name in figures, and with what options.
struct StartPlanner {
  std::string name;
  Tree options;
};

// Every planner that needs no options, TorchRec's in both of its versions, and those that cut by popularity with the
// bandwidths of the cluster, too, beside pooled tables that take least memory and with memory to spend. Whichever has
// no plan is left out.
std::vector<StartPlanner> start_planners();

// Answers as the host does, and keeps from it what planners say whose plans are only starts.
class UnheardHost : public HostOver {
 public:
  using HostOver::HostOver;
  bool listens() const override { return false; }
  void say(const std::string&) const override {}
  void state(const std::string&, double) const override {}
  void learned_from(const std::string&) const override {}
};

// The plans that searches start from. A planner plans once: for a search within TorchRec's types, too, where its plan
// is one of them.
class StartPlans {
 public:
  // Nothing where the planner has none, or one that `choices` do not allow.
  std::optional<Plan> plan_of(const StartPlanner& start, const Workload& workload, const Cluster& cluster,
                              const PlannerContext& context, const TableChoices& choices);

 private:
  std::map<std::string, Plan> plans_;  // by StartPlanner::name
};

}  // namespace shardsim::search
