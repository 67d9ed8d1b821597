#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/result/result.h"

namespace shardsim {

// The cases of a study as tables, charts and sentences look at them: by workload, the fastest first, and how many of
// them there are.

struct WorkloadCases {
  std::string workload;
  // Fastest first, by samples per second on average over the placements of hot rows, as choices_of() has it, whatever
  // their batches are; then what was excluded.
  std::vector<const CaseResult*> cases;
};
std::vector<WorkloadCases> by_workload(const StudyResult& study);  // workloads in the scenario's order

// True when the cases differ in their plans alone: as many GPUs of the same cluster, and the same batch. Else their
// times are no choice between plans.
bool is_one_choice(const WorkloadCases& group);
// The same of two cases: times of unlike batches or worlds say nothing of two plans.
bool differ_in_plans_alone(const CaseResult& a, const CaseResult& b);

// Its iteration, or the one with index_dedup of sequences where that is shorter, ms: what plans are fairly compared by.
double fair_ms(const CaseResult& item);

// The fastest (of those that were not excluded), and the slowest, of the cases whose plan fits in memory; null where
// none does.
const CaseResult* fastest_that_fits(const WorkloadCases& group);
const CaseResult* slowest_that_fits(const WorkloadCases& group);

// The case that this one's speed is measured against: the one that it names (`relative_to`), else one that another case
// of its workload names and that differs from it in its plan alone, else the slowest of the workload that fits in
// memory. None for jobs, and where none is named and the cases differ in more than their plans.
const CaseResult* measured_against(const CaseResult& item, const WorkloadCases& group, const StudyResult& study);

// Returns how many times as many samples per second the case has as that one; nothing where that one cannot run, for
// its plan does not fit in memory.
std::optional<double> speed_of(const CaseResult& item, const WorkloadCases& group, const StudyResult& study);

// The case's name without the part that its workload's heading already says ("rm1/row_wise" -> "row_wise").
std::string short_name(const CaseResult& item);

constexpr std::size_t kManyCases = 16;  // more than fit on a screen
// Also where planners are compared: their table is what counts.
bool has_many_cases(const StudyResult& study);
constexpr std::size_t kVeryManyCases = 30;  // more than anybody reads one by one: a terminal tells what stands out
bool has_very_many_cases(const StudyResult& study);

double largest_memory(const CaseResult& item);  // bytes of the fullest GPU, by the memory model
// In the order of the tables: of each workload the `most` fastest.
std::vector<const CaseResult*> all_cases(const StudyResult& study, std::size_t most);
double longest_iteration_ms(const StudyResult& study);

// True when a world has more ranks than can be drawn one by one.
bool has_rank_blocks(std::size_t ranks);

// "a, b, c and 47 more".
std::string some_names(const std::vector<std::string>& names);

}  // namespace shardsim
