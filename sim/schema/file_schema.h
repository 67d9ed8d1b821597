#pragma once

#include <string>
#include <vector>

namespace shardsim {

// The kinds of files that have a schema: cluster, plan, scenario, workload.
std::vector<std::string> schema_kinds();

// The JSON Schema of such files, made by asking their readers (base/schema/explore.h). It reads shipped files.
std::string file_schema(const std::string& kind);

}  // namespace shardsim
