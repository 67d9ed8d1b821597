#include "sim/study/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "sim/confidence/faster.h"
#include "sim/study/hardware.h"
#include "sim/study/result.h"

namespace shardsim {
namespace {

auto choice_key(const CaseResult& item) {
  return std::tie(item.workload, item.cluster, item.world_size, item.batch_per_gpu);
}

Choice choice_between(std::vector<const CaseResult*> cases) {
  std::ranges::stable_sort(cases, {}, &CaseResult::iteration_ms);
  const CaseResult& chosen = *cases.front();
  Choice choice;
  choice.workload = chosen.workload;
  choice.cluster = chosen.cluster;
  choice.chosen = chosen.name;
  for (const CaseResult* other : cases) {
    if (other == &chosen) continue;
    const Difference difference =
        difference_of(chosen.iteration_ms, *chosen.interval, other->iteration_ms, *other->interval);
    choice.others.push_back({other->name, difference.first_is_faster(), 100 * difference.expected_regret()});
    choice.regret_pct = std::max(choice.regret_pct, choice.others.back().regret_pct);
  }
  return choice;
}

CaseResult& result_named(StudyResult& study, const std::string& name) {
  return *std::ranges::find(study.cases, name, &CaseResult::name);
}

const Case& case_named(const Scenario& scenario, const std::string& name) {
  return *std::ranges::find(scenario.cases, name, &Case::name);
}

bool faster_on_slower_hardware(const CaseResult& fast, const CaseResult& other, const Scenario& scenario) {
  return fast.iteration_ms < other.iteration_ms && fast.placements == other.placements &&
         is_slower_hardware(case_named(scenario, fast.name).cluster, case_named(scenario, other.name).cluster);
}

std::string withheld_note(const CaseResult& fast, const CaseResult& other) {
  return fmt::format(
      "It is {:.2g} % faster than {} with the same plan, although nothing of its cluster is faster. {} That order is "
      "not "
      "stated as a probability: it comes from which operations happen to run at once.",
      100 * (other.iteration_ms / fast.iteration_ms - 1), other.name, overlap_sentence(other, fast));
}

// Takes those out that the chosen case beats with slower hardware.
void withhold(Choice& choice, StudyResult& study, const Scenario& scenario) {
  CaseResult& chosen = result_named(study, choice.chosen);
  std::erase_if(choice.others, [&](const Choice::Other& each) {
    const CaseResult& other = result_named(study, each.name);
    if (!faster_on_slower_hardware(chosen, other, scenario)) return false;
    chosen.notes.push_back(withheld_note(chosen, other));
    return true;
  });
  choice.regret_pct = 0;
  for (const Choice::Other& other : choice.others) choice.regret_pct = std::max(choice.regret_pct, other.regret_pct);
}

}  // namespace

void withhold_chances(StudyResult& study, const Scenario& scenario) {
  for (Choice& choice : study.choices) withhold(choice, study, scenario);
  std::erase_if(study.choices, [](const Choice& choice) { return choice.others.empty(); });
}

std::vector<Choice> choices_of(const StudyResult& study) {
  std::vector<std::vector<const CaseResult*>> groups;
  for (const CaseResult& item : study.cases) {
    if (!item.interval) continue;
    auto group =
        std::ranges::find_if(groups, [&](const auto& known) { return choice_key(*known.front()) == choice_key(item); });
    if (group == groups.end()) group = groups.emplace(groups.end());
    group->push_back(&item);
  }
  std::vector<Choice> choices;
  for (const auto& group : groups)
    if (group.size() > 1) choices.push_back(choice_between(group));
  return choices;
}

}  // namespace shardsim
