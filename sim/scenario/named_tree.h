#pragma once

#include <string>

#include "base/tree.h"

namespace shardsim {

// A cluster or workload as a scenario states it, made whole: a text is loaded as a shipped name or a path, a map gets
// its `base` chain merged below it. `kind` is "clusters" or "workloads"; `from` is the folder that relative paths start
// at. Errors: Failure::input for what cannot be read, a circle of bases, or more than 8 of them.
Tree whole_tree(const Tree& stated, const std::string& kind, const std::string& from);

// `file` as the current folder sees it.
std::string path_from(const std::string& folder, const std::string& file);

}  // namespace shardsim
