#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "study/planning/prepared_case.h"
#include "study/scenario/scenario.h"

namespace shardsim {

// The kind of a file, and the faults in it.
struct Checked {
  std::string kind;
  std::string summary{};
  std::vector<std::string> findings{};
  // On a file without faults, each with the cases that it holds for.
  std::vector<std::pair<std::string, std::vector<std::string>>> notes{};
  Failure failure = Failure::input;

  void add_finding(const std::string& finding);  // once, however many cases meet it
  void add_notes(const std::string& name, const std::vector<std::string>& more);
};

// Everything but the simulation of every case, and every value of the axes of a sweep: clusters, plans, memory,
// Programs. Errors (Failure::input): those of scenario_from_text(); what is wrong behind that is among the findings.
Checked checked_scenario(const std::string& text, const std::string& path, const Overrides& overrides,
                         const PlanWatch& watch);

}  // namespace shardsim
