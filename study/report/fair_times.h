#pragma once

#include <vector>

#include "study/result/result.h"

namespace shardsim {

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
