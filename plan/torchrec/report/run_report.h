#pragma once

#include <string>

#include "plan/torchrec/search/planner_run.h"

namespace shardsim::torchrec {

// The plan of a run in TorchRec's JSON form, {"plan": {module: {table: entry}}}.
std::string sharding_plan_json(const RunResult& run, const Topology& topology);

// Why a run found no plan, as one JSON object of numbers.
std::string failure_report_json(const RunResult& run, const RunSettings& settings);

}  // namespace shardsim::torchrec
