#pragma once

#include <string>

#include "study/import/model_files.h"

namespace shardsim {

// The keys of a workload file behind its `schema`, with a line for each table. Errors (Failure::input, at the table):
// more than a file may hold; a feature has a larger batch than a rank.
std::string imported_workload(const ImportedModel& model, const ImportSetting& setting);

}  // namespace shardsim
