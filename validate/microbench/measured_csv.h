#pragma once

#include <string>

#include "validate/microbench/microbench.h"

namespace shardsim {

// The set as a table with the columns of the public embedding measurements (docs/formats.md, embedding measurements):
// one row per point, and one per limit (op `copy`, `cache_read`, `empty_call`). Quality A, or C where the limits
// drifted by more than was allowed.
std::string measured_csv(const MeasuredSet& set);

// Everything, raw samples included, as one JSON object: schema shardsim.microbench/1.
std::string measured_json(const MeasuredSet& set);

}  // namespace shardsim
