#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/planning/prepared_case.h"
#include "study/result/rank_loads.h"
#include "study/why/why.h"

namespace shardsim {

// An owner of rows this much above the mean is worth a sentence.
inline constexpr double kTellingSkew = 0.25;

// Sentences about uneven rows, from the `loads` of the case's Program: which rank looks up most, how much more than the
// mean, because of which table, whether the others wait for it, and whether a single row causes it, so that no other
// cut by rows would help. Where they wait for it, or nobody knows, each says what would help, as far as the closed form
// or the planner search does not say otherwise. There are none below kTellingSkew. `estimated_ms`: the iteration of
// `prepared` by the closed form; none: found when it is asked for. `why`: of the simulated iteration; null: there is
// none.
std::vector<std::string> load_notes(const RankLoads& loads, const PreparedCase& prepared,
                                    std::optional<double> estimated_ms = {}, const Why* why = nullptr);

// " Replicating its most popular rows may help: ..." if all tables can be cut into tiers, else "".
std::string tiers_remedy(const Workload& workload);

// The loads of any plan in a sentence or two: what the fullest rank looks up and receives over the mean one.
std::string load_statistics(const Program& program);

}  // namespace shardsim
