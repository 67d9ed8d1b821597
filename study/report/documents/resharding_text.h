#pragma once

#include <string>

#include "study/drift/drift_study.h"

namespace shardsim {

// The answer of a drift in a few sentences: how often to make a new plan, on which day at the latest and why, what that
// costs, and what it costs not to.
std::string resharding_text(const DriftResult& result, const DriftOptions& options);

}  // namespace shardsim
