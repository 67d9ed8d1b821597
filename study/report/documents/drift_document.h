#pragma once

#include <string>

#include "base/document/document.h"
#include "study/drift/drift_study.h"

namespace shardsim {

// The answer of a drift in a few sentences: how often to make a new plan, on which day at the latest and why, what that
// costs, and what it costs not to.
std::string resharding_text(const DriftResult& result, const DriftOptions& options);

// The answer of `shardsim drift`, its table of days and their chart, for a terminal or a page.
Document drift_document(const DriftResult& result, const DriftOptions& options, const Scenario& scenario,
                        Medium medium);

}  // namespace shardsim
