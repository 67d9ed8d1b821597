#pragma once

#include <cstddef>

#include "plan/torchrec/report/statistics.h"

namespace shardsim::golden {

// Columns that TorchRec's report of a run is wide: its two tables of text decide, whose cells are as long as it prints
// them.
std::size_t line_width(const torchrec::Statistics& statistics);

}  // namespace shardsim::golden
