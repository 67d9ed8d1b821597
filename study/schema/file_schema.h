#pragma once

#include <functional>
#include <string>
#include <vector>

namespace shardsim {

// The kinds of files that have a schema: cluster, plan, scenario, workload.
std::vector<std::string> schema_kinds();

// The JSON Schema of such files: what their structs say of their keys, or what their readers ask of specimens
// (base/schema/). It reads shipped files. `check_stop` is called before each reading, and throws when the user asked to
// stop.
std::string file_schema(const std::string& kind, const std::function<void()>& check_stop);

// The kinds of files whose structs say their keys (base/fields/), and their keys as the Markdown tables of
// docs/formats/.
std::vector<std::string> described_kinds();
std::string file_keys(const std::string& kind);

}  // namespace shardsim
