#pragma once

#include <string>

#include "plan/torchrec/report/statistics.h"

namespace shardsim::torchrec {

// What TorchRec prints of the ranks and of the plan as a whole, 100 columns wide, in words of our own. Ranks with equal
// figures share a line.
std::string statistics_text(const Statistics& statistics);

// The same as one JSON object, numbers rounded as they are printed.
std::string statistics_json(const Statistics& statistics);

// Columns that TorchRec's report is wide.
std::size_t line_width(const Statistics& statistics);

}  // namespace shardsim::torchrec
