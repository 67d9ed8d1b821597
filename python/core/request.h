#pragma once

#include <string>
#include <utility>
#include <vector>

#include "study/scenario/scenario.h"

namespace shardsim::python {

// A scenario as Python holds it: a text, where it is said to lie, and the changes on top of it.
struct Request {
  std::string text;
  std::string path;  // files that the text names are looked for beside it; messages name it
  Overrides changes;

  Scenario scenario() const { return scenario_from_text(text, path, changes); }
};

// A scenario whose cases are read, and one of them by name.
struct ChosenCase {
  Scenario scenario;
  std::size_t index = 0;

  const Case& item() const { return scenario.cases[index]; }
};

// `name`: "" where the scenario has one case alone. Errors (Failure::input): no such case, or none is named of several.
ChosenCase chosen_case(const Request& request, const std::string& name);

// A plan in TorchRec's JSON form (docs/formats/plan.md) for a case on this cluster, with the holders of all sharding
// groups: of 2D parallelism its text is of one group, as plan_to_json() writes it. Errors: those of checked_plan().
Plan given_plan(const std::string& plan_json, const Case& item, const Cluster& cluster);

}  // namespace shardsim::python
