#pragma once

#include <string>

#include "sim/study/result.h"

namespace shardsim {

// docs/formats.md, result.json (`shardsim.result/1`): keys in the order given there, line end at the end, numbers in
// the shortest form that reads back as the same value. Beyond the keys of the first description: cases[]
// `iteration_ms_at_observed_payload` (where a table says what was observed), `limited_by` {what, share_pct},
// `compute`[] {name, class, total_ms}, `notes`[]; collectives[] `in_iteration_ms`; `fitted_constants`[] {path, value,
// source, fitted_on, and rows_used where that is known}. Throws std::logic_error when a number is not finite: that is a
// bug, not a result.
std::string result_to_json(const StudyResult& study);

}  // namespace shardsim
