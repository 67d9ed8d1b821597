#include "study/result/machines.h"

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

}  // namespace shardsim
