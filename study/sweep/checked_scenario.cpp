#include "study/sweep/checked_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "study/notes/notes.h"
#include "study/planning/prepared_case.h"
#include "study/run/study.h"
#include "study/sweep/axis_trial.h"
#include "study/sweep/read_sweep.h"

namespace shardsim {

void Checked::add_finding(const std::string& finding) {
  if (std::ranges::find(findings, finding) == findings.end()) findings.push_back(finding);
}

void Checked::add_notes(const std::string& name, const std::vector<std::string>& more) {
  for (const std::string& note : more) {
    const auto known = std::ranges::find(notes, note, [](const auto& each) { return each.first; });
    if (known == notes.end()) {
      notes.push_back({note, {name}});
    } else {
      known->second.push_back(name);
    }
  }
}

namespace {

// Everything but the simulation: cluster, plan, memory, Program.
void check_case(const Case& item, const Scenario& scenario, const PlanWatch& watch, Checked& checked) {
  try {
    const Cluster cluster = cluster_of(item);
    const PreparedCase prepared(scenario, item, cluster, make_plan(item, cluster, scenario.seed, watch));
    check_program(prepared.program(), item.place);
    make_network(item.network);
    // The closed form is quick, and expands every collective as the simulation would.
    simulate_case(prepared, *ResolvedCase::uncontended());
    checked.add_notes(item.name, notes_for(Asker::check, {item, &prepared}));
  } catch (const Error& error) {
    if (checked.findings.empty() || error.failure() == Failure::input) checked.failure = error.failure();
    checked.add_finding(error.what());
  }
}

// Planners that are compared may fail; what they share may not, nor may all of them. Their loads are what `run`
// compares.
void check_planners(const std::vector<const Case*>& planners, const Scenario& scenario, const PlanWatch& watch,
                    Checked& checked) {
  Checked best{"scenario"};
  for (const Case* item : planners) {
    Checked here{"scenario"};
    check_case(*item, scenario, watch, here);
    if (here.findings.empty()) return;
    if (best.findings.empty()) best = here;
  }
  checked.failure = best.failure;
  for (const std::string& finding : best.findings) checked.add_finding(finding);
}

// The planners of each comparison by its case.
std::map<std::string, std::vector<const Case*>> compared_planners(const Scenario& scenario) {
  std::map<std::string, std::vector<const Case*>> groups;
  for (const Case& item : scenario.cases) {
    if (item.compared) groups[item.compared->group].push_back(&item);
  }
  return groups;
}

// Every value of an axis is read once, beside values that are right.
void check_sweep(const std::string& text, const std::string& path, const Overrides& overrides, Checked& checked) {
  const Sweep sweep = sweep_from_text(text, path, overrides, {.keep_hopeless_axes = true});
  checked.summary += fmt::format(", a sweep of {}", counted(sweep.points.size(), "point"));
  checked.add_notes(sweep.base.name, dropped_by_axes(sweep));
  for (const Error& error : wrong_values(sweep)) {
    checked.failure = Failure::input;
    checked.add_finding(error.what());
  }
}

}  // namespace

Checked checked_scenario(const std::string& text, const std::string& path, const Overrides& overrides,
                         const PlanWatch& watch) {
  Checked checked{"scenario"};
  const Scenario scenario = scenario_from_text(text, path, overrides);
  for (const Case& item : scenario.cases) {
    if (!item.compared) check_case(item, scenario, watch, checked);
  }
  for (const auto& [name, planners] : compared_planners(scenario)) check_planners(planners, scenario, watch, checked);
  if (checked.findings.empty()) check_job_groups(scenario, watch);
  checked.summary = counted(scenario.cases.size(), "case");
  if (has_sweep(text, path)) check_sweep(text, path, overrides, checked);
  return checked;
}

}  // namespace shardsim
