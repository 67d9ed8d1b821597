#pragma once

#include <string>

#include "study/drift/drift_study.h"
#include "study/run/explained_case.h"

namespace shardsim {

// The contents of why.json and drift.json (docs/formats/result.md), which the commands write and Python reads. Errors
// (Failure::run): a number that is not finite.
std::string why_json(const ExplainedCase& explained, const Scenario& scenario, const Case& item);
std::string drift_json(const DriftResult& result, const DriftOptions& options, const Scenario& scenario);

}  // namespace shardsim
