#pragma once

#include <string>
#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"

namespace shardsim {

// Path of the module that holds each table of the workload: its pooled or its sequence module. TorchRec's
// EmbeddingCollection has one dimension, so sequence tables of several are in several, MODULE_DIM.
std::vector<std::string> module_paths(const Workload& workload);

// The same under a plan, which may name others.
std::vector<std::string> module_paths(const Workload& workload, const Plan& plan);

}  // namespace shardsim
