#pragma once

#include <string>

#include "sim/study/result.h"

namespace shardsim {

// The part of the report on TorchRec's estimates: correlation, the plans in a chart, those whose places differ most and
// why. "" without a cross-check.
std::string cross_check_html(const StudyResult& study, bool drawn);

}  // namespace shardsim
