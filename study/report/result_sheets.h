#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document/document.h"
#include "study/result/result.h"

namespace shardsim {

// The tables and sentences of a result, the same on a terminal and in the report.

struct WorkloadCases {
  std::string workload;
  // Fastest first, by samples per second, whatever their batches are; then what was excluded.
  std::vector<const CaseResult*> cases;
};
std::vector<WorkloadCases> by_workload(const StudyResult& study);  // workloads in the scenario's order

// True when the cases differ in their plans alone: as many GPUs of the same cluster, and the same batch. Else their
// times are no choice between plans.
bool is_one_choice(const WorkloadCases& group);

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

// In the order of the tables: of each workload the `most` fastest.
double largest_memory(const CaseResult& item);  // bytes of the fullest GPU, by the memory model
std::vector<const CaseResult*> all_cases(const StudyResult& study, std::size_t most);
double longest_iteration_ms(const StudyResult& study);

// A table has no rows, and a section no blocks, where there is nothing to tell. A legend says what columns mean.

// Under a heading per workload. If there are very many cases, a terminal shows their names whole and fewer figures of
// each.
Sheet cases_sheet(const StudyResult& study, Medium medium);
std::string cases_legend(const StudyResult& study, Medium medium);
// The planners of each case that lists several, fastest first; why some have no plan stands below. A terminal shows few
// such cases.
Section planners_section(const StudyResult& study, Medium medium);
Section planner_totals_section(const StudyResult& study);  // over several such cases
Section planner_matrix_section(const StudyResult& study);  // a row for each of several, a column for each planner
// As order_key() puts them, then those without a plan; without those that need options.
std::vector<const ComparedPlan*> fastest_first(const PlannerComparison& comparison, const StudyResult& study);
// " 3.5 GiB of each GPU are reserved ..."; "" where nothing is.
std::string reserve_text(const StudyResult& study);
// "fits", "2.10 GiB over" or "no plan".
std::string memory_outcome(const ComparedPlan& plan);
// True when, in some case, the costs of a planner were learned from the model that judges it.
bool any_in_model(const StudyResult& study);
// Says in a sentence or two which planner is best; "" where none are compared.
std::string planners_sentence(const StudyResult& study);
// True when so many cases list planners, and none has a plan of its own, that a terminal shows the totals alone.
bool is_large_comparison(const StudyResult& study);
Section jobs_section(const StudyResult& study);  // under a heading per fabric
// The work of the hosts, where cases state software, in the order of the tables; of many cases those that wait, the
// worst first, of which a terminal shows some.
Section host_section(const StudyResult& study, Medium medium);
// Says why the fastest case takes what it takes, with its name where there are several; "" where no path is known.
std::string why_sentence_of_fastest(const StudyResult& study);
// Says for each case with a known path why it takes what it takes; of many cases in a sentence each. For a page.
Section why_section(const StudyResult& study);
// The spread of the iterations of drawn batches, under a heading per case. A page says it of each collective, too.
Section drawn_section(const StudyResult& study, Medium medium);
// Under a heading per case. Below, for collectives of whose exposed time a large part is waiting, the rank that they
// wait for.
Section collectives_section(const StudyResult& study, Medium medium);

// The operators of PyTorch's dense part, of the fastest cases where there are many; no rows where no case has any.
Section dense_operators_section(const StudyResult& study);
bool has_dense_operators(const StudyResult& study);
// "14.6 of 17.6 ms exposed is waiting for rank 3, update_history".
std::string waiting_text(const NamedTime& time, int places);
Section published_section(const StudyResult& study, Medium medium);  // under a heading per case

// The ranks that look up equally many rows, for each case whose ranks are too many to draw each. For a page.
Section load_classes_section(const StudyResult& study);

// Per case, what the fullest GPU holds at its high-water mark, part by part, beside the memory model's figures for it.
Section memory_section(const StudyResult& study);

// The answer in a few sentences: the fastest plan of each workload, by how much, what limits it, and whether it fits;
// of published iterations first how far off the predictions are.
std::string summary_text(const StudyResult& study);

// Says which cases hold more at their simulated peak than a GPU has, though the memory model lets them pass; "" when
// none does, or their models are asked for no buffers.
std::string memory_warning(const StudyResult& study);
// Those cases, with what they need: "a (85.4 GiB of 76.2, ...) and b (...)"; "": none.
std::string cases_over_at_peak(const StudyResult& study);

// That TorchRec cannot run the fastest plans, what of them it does not have, and the remedy; "" where it can.
std::string torchrec_warning(const StudyResult& study);
// The same in a line or two, for a first screen.
std::string short_torchrec_warning(const StudyResult& study);

// Median and worst error of the published times that nothing was fitted to; "" when
// there is none.
std::string accuracy_text(const StudyResult& study);

// Every note once, with the cases that it holds for, in the order they come up.
std::vector<std::pair<std::string, std::vector<std::string>>> notes_by_text(const StudyResult& study);

// "a, b, c and 47 more".
std::string some_names(const std::vector<std::string>& names);

// TorchRec's estimates beside the simulation: correlation and regret of one group, in a sentence or two.
std::string cross_check_text(const CrossCheck& check, const StudyResult& study);

// Says which terms would bring the orders together; "" when they are alike.
std::string missing_text(const CrossCheck& check);

// The plans whose places differ most: estimate and simulation with their places, and the largest missing term.
Sheet worst_sheet(const StudyResult& study);
std::string worst_legend();

// Their effects in ms, what the plans that they changed places with have of each below them, and all plans on average
// with the correlation that knowing the effect would give.
Section effects_section(const StudyResult& study);

}  // namespace shardsim
