#pragma once

#include <string>

#include "validate/comparison/comparison_report.h"

namespace shardsim {

// docs/formats.md, `shardsim.comparison/1`, ending in a line feed.
std::string comparison_json(const ComparisonReport& report);

}  // namespace shardsim
