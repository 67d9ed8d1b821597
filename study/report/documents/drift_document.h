#pragma once

#include "base/document/document.h"
#include "study/drift/drift_study.h"

namespace shardsim {

// The answer of `shardsim drift`, its table of days and their chart, for a terminal or a page.
Document drift_document(const DriftResult& result, const DriftOptions& options, const Scenario& scenario,
                        Medium medium);

}  // namespace shardsim
