#pragma once

#include <string>

#include "plan/torchrec/search/planner_run.h"

namespace shardsim::golden {

// The plan of a run in TorchRec's JSON form, {"plan": {module: {table: entry}}}.
std::string sharding_plan_json(const torchrec::RunResult& run, const torchrec::Topology& topology);

// Why a run found no plan, as one JSON object of numbers.
std::string failure_report_json(const torchrec::RunResult& run, const torchrec::RunSettings& settings);

}  // namespace shardsim::golden
