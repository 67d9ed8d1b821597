#pragma once

#include <vector>

#include "sim/engine/past_spans.h"

namespace shardsim {

// [op] how much longer each operation could take before the path of the run's last iteration gets longer. `path` has
// its steps; whether it repeats decides whether the next iteration counts.
std::vector<OpSlack> op_slack(const PastRun& run, const PastSpans& spans, const CriticalPath& path);

}  // namespace shardsim
