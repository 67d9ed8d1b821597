#include "study/result/choices.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "study/confidence/faster.h"
#include "study/result/case_figures.h"
#include "study/result/hardware.h"

namespace shardsim {
namespace {

using Machines = std::vector<const CaseResult*>;  // the fastest case of each

std::map<std::string, Machines> machines_by_workload(const StudyResult& study) {
  std::map<std::string, Machines> workloads;
  for (const CaseResult& item : study.cases) {
    if (!item.interval || !fits(item)) continue;
    Machines& machines = workloads[item.workload];
    const auto known = std::ranges::find_if(machines, [&](const CaseResult* other) {
      return std::tie(other->cluster, other->world_size) == std::tie(item.cluster, item.world_size);
    });
    if (known == machines.end()) {
      machines.push_back(&item);
    } else if (expected_rate(item) > expected_rate(**known)) {
      *known = &item;
    }
  }
  for (auto& [workload, machines] : workloads)
    std::ranges::stable_sort(machines, std::greater{}, [](const CaseResult* each) { return expected_rate(*each); });
  return workloads;
}

// In the time of a sample, for machines may differ in size and batch.
double chance_that_faster(const CaseResult& first, const CaseResult& second) {
  const auto samples = [](const CaseResult& item) {
    return static_cast<double>(item.world_size) * static_cast<double>(item.batch_per_gpu);
  };
  return difference_of_samples(first.iteration_ms, *first.interval, samples(first), second.iteration_ms,
                               *second.interval, samples(second))
      .first_is_faster();
}

auto choice_key(const CaseResult& item) {
  return std::tie(item.workload, item.cluster, item.world_size, item.batch_per_gpu);
}

// Two names of one thing: the same plan on the same cluster, which a scenario may plan in several cases.
bool is_same_alternative(const CaseResult& one, const CaseResult& other) {
  return one.iteration_ms == other.iteration_ms && one.placements == other.placements;
}

// The one to choose first, by its time on average over where hot rows may lie, each alternative once; what was excluded
// comes last.
std::vector<const CaseResult*> alternatives(std::vector<const CaseResult*> cases) {
  std::ranges::stable_sort(cases, {}, [](const CaseResult* each) {
    return std::pair(is_without_limit(*each), order_key(expected_ms(*each), *each));
  });
  std::vector<const CaseResult*> different;
  for (const CaseResult* each : cases) {
    const auto is_same = [&](const CaseResult* known) { return is_same_alternative(*known, *each); };
    if (std::ranges::none_of(different, is_same)) different.push_back(each);
  }
  return different;
}

// `cases`: the fastest first.
Choice choice_between(const std::vector<const CaseResult*>& cases) {
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

// Takes those out that the chosen case beats with slower hardware.
void withhold(Choice& choice, const StudyResult& study, const Scenario& scenario) {
  std::erase_if(choice.others, [&](const Choice::Other& each) {
    return is_faster_on_slower_hardware(study.case_named(choice.chosen), study.case_named(each.name), scenario);
  });
  choice.regret_pct = 0;
  for (const Choice::Other& other : choice.others) choice.regret_pct = std::max(choice.regret_pct, other.regret_pct);
}

}  // namespace

std::vector<MachineOrder> machine_orders(const StudyResult& study, const Scenario& scenario) {
  std::vector<MachineOrder> orders;
  for (const auto& [workload, machines] : machines_by_workload(study)) {
    for (std::size_t i = 0; i + 1 < machines.size(); ++i) {
      const CaseResult &fast = *machines[i], &other = *machines[i + 1];
      const ClusterSpec &of_fast = case_named(scenario, fast.name).cluster,
                        &of_other = case_named(scenario, other.name).cluster;
      if (asks_the_same(fast, other, scenario) && is_slower_hardware(of_fast, of_other)) continue;
      orders.push_back({workload, fast.name, other.name, chance_that_faster(fast, other)});
    }
  }
  return orders;
}

void withhold_chances(StudyResult& study, const Scenario& scenario) {
  for (Choice& choice : study.choices) withhold(choice, study, scenario);
  std::erase_if(study.choices, [](const Choice& choice) { return choice.others.empty(); });
}

std::vector<Choice> choices_of(const StudyResult& study) {
  std::vector<std::vector<const CaseResult*>> groups;
  for (const CaseResult& item : study.cases) {
    if (!item.interval || !fits(item)) continue;
    auto group =
        std::ranges::find_if(groups, [&](const auto& known) { return choice_key(*known.front()) == choice_key(item); });
    if (group == groups.end()) group = groups.emplace(groups.end());
    group->push_back(&item);
  }
  std::vector<Choice> choices;
  for (const auto& group : groups) {
    const std::vector<const CaseResult*> different = alternatives(group);
    if (different.size() > 1) choices.push_back(choice_between(different));
  }
  return choices;
}

}  // namespace shardsim
