#pragma once

#include <string>

#include "base/tree/tree.h"
#include "study/drift/drift_study.h"
#include "study/result/result.h"
#include "study/run/explained_case.h"

namespace shardsim {

// docs/formats/result.md, result.json (`shardsim.result/1`, or `/2` where a large case says once what is alike): keys
// in the order given there, line end at the end, numbers in the shortest form that reads back as the same value. Its
// keys are listed once, for writing and reading, in study/result/result_fields.h. Throws std::logic_error when a number
// is not finite: that is a bug, not a result.
std::string result_to_json(const StudyResult& study);

// The study as far as result.json tells it: no Timelines, no names of workloads, clusters and planners of cases.
// Written again, it gives the same text. Keys that this version does not know are passed over, for they are added
// within a schema. Errors: Failure::input with the line for a missing key, a value of another type, a case that is
// named and not there, classes or rank sets that stand for too many numbers.
StudyResult result_from_tree(const Tree& tree);

// The contents of why.json and drift.json (docs/formats/result.md), which the commands write and Python reads. Errors
// (Failure::run): a number that is not finite.
std::string why_json(const ExplainedCase& explained, const Scenario& scenario, const Case& item);
std::string drift_json(const DriftResult& result, const DriftOptions& options, const Scenario& scenario);

}  // namespace shardsim
