#pragma once

#include <string>

#include "sim/result.h"

namespace shardsim {

// docs/formats.md, result.json (`shardsim.result/1`). Throws when a number is not finite: that is a bug, not a result.
std::string result_to_json(const StudyResult& study);

}  // namespace shardsim
