#pragma once

#include <string>
#include <vector>

#include "tests/case_file/fields.h"

namespace shardsim::golden {

// Every value of `expected` against the one at the same place of `actual`, one line per difference. Whole numbers must
// be equal, others within `relative` of each other or `absolute`. `actual` may hold more fields than `expected`.
std::vector<std::string> differences(const Json& expected, const Json& actual, double relative = 1e-12,
                                     double absolute = 0);

}  // namespace shardsim::golden
