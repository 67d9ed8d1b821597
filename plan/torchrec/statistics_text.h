#pragma once

#include <string>

#include "plan/torchrec/statistics.h"

namespace shardsim::torchrec {

// The two tables as TorchRec prints them, and the numbers around them in words of our own.
std::string statistics_text(const Statistics& statistics);

// The same as one JSON object, numbers rounded as they are printed.
std::string statistics_json(const Statistics& statistics);

// Columns that TorchRec's report is wide.
std::size_t line_width(const Statistics& statistics);

}  // namespace shardsim::torchrec
