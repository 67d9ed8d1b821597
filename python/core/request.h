#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "study/scenario/scenario.h"

namespace shardsim::python {

// The text of a scenario and where it is said to lie. It is parsed once, when it is first asked for, by whatever
// thread.
class ScenarioText {
 public:
  ScenarioText(std::string of, std::string at) : text(std::move(of)), path(std::move(at)) {}

  const std::string text;
  const std::string path;  // files that the text names are looked for beside it; messages name it

  // Errors: those of parse_yaml(), each time.
  const Tree& tree() const;

 private:
  mutable std::once_flag parsed_;
  mutable Tree tree_;
};

// A scenario as Python holds it: a text, and the changes on top of it.
class Request {
 public:
  Request(std::shared_ptr<const ScenarioText> source, Overrides changes);

  const std::string& text() const { return source_->text; }
  const std::string& path() const { return source_->path; }
  const Overrides& changes() const { return changes_; }

  // The scenario that was read last, while the files that it names are as they were then: a notebook asks many
  // questions of one. Errors: those of scenario_from_tree().
  std::shared_ptr<const Scenario> scenario() const;

 private:
  struct Reading;

  std::shared_ptr<const ScenarioText> source_;
  Overrides changes_;
  std::shared_ptr<Reading> reading_;  // of all copies
};

// A scenario whose cases are read, and one of them by name.
struct ChosenCase {
  std::shared_ptr<const Scenario> scenario;
  std::size_t index = 0;

  const Case& item() const { return scenario->cases[index]; }
};

// `name`: "" where the scenario has one case alone. Errors (Failure::input): no such case, or none is named of several.
ChosenCase chosen_case(const Request& request, const std::string& name);

// A plan in TorchRec's JSON form (docs/formats/plan.md) for a case on this cluster, with the holders of all sharding
// groups: of 2D parallelism its text is of one group, as plan_to_json() writes it. Errors: those of checked_plan().
Plan given_plan(const std::string& plan_json, const Case& item, const Cluster& cluster);

}  // namespace shardsim::python
