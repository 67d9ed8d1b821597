#pragma once

#include <string>

#include "cli/arguments.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// Writes to standard output, or to the file of -o; a file that is there must hold `mark`, so be one of the same kind.
// Errors (Failure::input): a file of another kind, without --force.
void deliver_file(const std::string& text, const Arguments& given, const std::string& mark);

// What is written must read back as what was found, and make a cluster. Errors (Failure::run): it does not.
void prove(const std::string& text, const ClusterSpec& spec);

inline constexpr const char* kClusterMark = "shardsim.cluster/1";

}  // namespace shardsim
