#pragma once

#include <string>

#include "sim/study/result.h"

namespace shardsim {

// The run as a person reads it: cases (fastest first within each workload), collectives, predicted beside published.
// `width` columns; `colour` adds terminal colours, meaning never rests on them alone.
std::string result_table(const StudyResult& study, int width, bool colour);

}  // namespace shardsim
