#include "study/report/case_groups.h"

#include <algorithm>

#include "base/text.h"
#include "study/result/case_figures.h"

namespace shardsim {

bool differ_in_plans_alone(const CaseResult& a, const CaseResult& b) {
  return a.world_size == b.world_size && a.batch_per_gpu == b.batch_per_gpu && a.cluster == b.cluster;
}

std::vector<WorkloadCases> by_workload(const StudyResult& study) {
  std::vector<WorkloadCases> groups;
  for (const CaseResult& item : study.cases) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const WorkloadCases& known) { return known.workload == item.workload; });
    if (group == groups.end()) group = groups.insert(groups.end(), {item.workload, {}});
    group->cases.push_back(&item);
  }
  for (WorkloadCases& group : groups) {
    std::ranges::stable_sort(group.cases, {}, [](const CaseResult* each) {
      return std::pair(is_without_limit(*each), order_key(1 / expected_rate(*each), *each));
    });
  }
  return groups;
}

bool is_one_choice(const WorkloadCases& group) {
  const CaseResult& first = *group.cases.front();
  return std::ranges::all_of(group.cases, [&](const CaseResult* item) { return differ_in_plans_alone(*item, first); });
}

double fair_ms(const CaseResult& item) {
  return std::min(item.iteration_ms, item.iteration_ms_without_duplicates.value_or(item.iteration_ms));
}

const CaseResult* fastest_that_fits(const WorkloadCases& group) {
  const auto fastest =
      std::ranges::find_if(group.cases, [](const CaseResult* each) { return fits(*each) && !is_without_limit(*each); });
  return fastest == group.cases.end() ? nullptr : *fastest;
}

const CaseResult* slowest_that_fits(const WorkloadCases& group) {
  const auto slowest =
      std::find_if(group.cases.rbegin(), group.cases.rend(), [](const CaseResult* each) { return fits(*each); });
  return slowest == group.cases.rend() ? nullptr : *slowest;
}

const CaseResult* measured_against(const CaseResult& item, const WorkloadCases& group, const StudyResult& study) {
  if (item.job) return nullptr;
  const auto named = [&](const CaseResult& by) -> const CaseResult* {
    const auto base = std::ranges::find(study.cases, by.relative_to, &CaseResult::name);
    return by.relative_to.empty() || base == study.cases.end() ? nullptr : &*base;
  };
  if (!item.relative_to.empty()) return named(item);
  bool some_name_one = false;
  for (const CaseResult* other : group.cases) {
    some_name_one = some_name_one || !other->relative_to.empty();
    const CaseResult* base = named(*other);
    if (base != nullptr && base->workload == item.workload && differ_in_plans_alone(*base, item)) return base;
  }
  if (some_name_one || !is_one_choice(group)) return nullptr;
  return slowest_that_fits(group);
}

std::optional<double> speed_of(const CaseResult& item, const WorkloadCases& group, const StudyResult& study) {
  const CaseResult* base = measured_against(item, group, study);
  if (base == nullptr || base->samples_per_s <= 0 || !fits(*base)) return std::nullopt;
  return item.samples_per_s / base->samples_per_s;
}

std::string short_name(const CaseResult& item) {
  const std::string prefix = item.workload + "/";
  const bool led = item.name.size() > prefix.size() && item.name.compare(0, prefix.size(), prefix) == 0;
  return led ? item.name.substr(prefix.size()) : item.name;
}

bool has_many_cases(const StudyResult& study) {
  return study.cases.size() > kManyCases || !study.comparisons.empty();
}

bool has_very_many_cases(const StudyResult& study) {
  return study.cases.size() > kVeryManyCases;
}

double largest_memory(const CaseResult& item) {
  const auto& ranks = item.memory_per_rank;
  return ranks.empty() ? 0 : static_cast<double>(std::ranges::max(ranks));
}

std::vector<const CaseResult*> all_cases(const StudyResult& study, std::size_t most) {
  std::vector<const CaseResult*> cases;
  for (const WorkloadCases& group : by_workload(study)) {
    for (std::size_t i = 0; i < std::min(group.cases.size(), most); ++i) cases.push_back(group.cases[i]);
  }
  return cases;
}

double longest_iteration_ms(const StudyResult& study) {
  double longest = 0;
  for (const CaseResult& item : study.cases) longest = std::max(longest, item.iteration_ms);
  return longest;
}

bool has_rank_blocks(std::size_t ranks) {
  constexpr std::size_t kRanksDrawn = 1024;  // more than pixels that a strip is wide
  return ranks > kRanksDrawn;
}

std::string some_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  if (names.size() <= kMost) return join(names);
  return first_names(names, kMost / 2);
}

}  // namespace shardsim
