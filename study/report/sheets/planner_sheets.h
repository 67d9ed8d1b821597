#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/document/document.h"
#include "study/result/result.h"

namespace shardsim {

// The tables and sentences of planners that are compared. A section has no blocks where none are.

// The planners of each case that lists several, fastest first; why some have no plan stands below. A terminal shows few
// such cases.
Section planners_section(const StudyResult& study, Medium medium);
Section planner_totals_section(const StudyResult& study);  // over several such cases
Section planner_matrix_section(const StudyResult& study);  // a row for each of several, a column for each planner
// As order_key() puts them, on average over the placements of hot rows, then those without a plan; without those that
// need options.
std::vector<const ComparedPlan*> fastest_first(const PlannerComparison& comparison, const StudyResult& study);
// "fits", "2.10 GiB over" or "no plan".
std::string memory_outcome(const ComparedPlan& plan);
// True when, in some case, the costs of a planner were learned from the model that judges it.
bool any_in_model(const StudyResult& study);
// Says in a sentence or two which planner is best; "" where none are compared.
std::string planners_sentence(const StudyResult& study);
// True when so many cases list planners, and none has a plan of its own, that a terminal shows the totals alone.
bool is_large_comparison(const StudyResult& study);
// "All plans are judged by simulation ...": what judged them, and what planners were trained on.
std::string judge_text(const StudyResult& study);
// How many times as long as that one, "1.034"; "-" where one of them is missing.
std::string ratio_cell(const std::optional<double>& ms, const std::optional<double>& base);

// A plan of a comparison with index_dedup of sequences where its iteration is shorter so: what is left between plans
// when all have an option that any of them may have.
struct FairTime {
  const ComparedPlan* plan = nullptr;
  double ms = 0;
  bool deduplicated = false;
};

// Returns the plans that fit and were simulated both ways, fastest first; none where index_dedup makes none of them
// faster.
std::vector<FairTime> fair_times(const PlannerComparison& comparison, const StudyResult& study);

}  // namespace shardsim
