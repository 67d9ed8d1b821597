#include "sim/study/choices.h"

#include <algorithm>
#include <tuple>

#include "sim/confidence/faster.h"
#include "sim/study/result_fields.h"

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

}  // namespace

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
  for (const auto& group : groups)
    if (group.size() > 1) choices.push_back(choice_between(group));
  return choices;
}

}  // namespace shardsim
