#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace shardsim {

// What a scenario says of a cluster, a workload, a software or a model and what the command line drops with it: `--set
// cluster=NAME` replaces the whole cluster, `nodes: 4` beside its base too. In sentences, each once with the cases that
// it holds for; none for what a later --set says again. The scenario is one that read_scenario() has accepted.
std::vector<std::string> dropped_edits(const std::string& path, const Overrides& overrides);

// The paths within `before` of what was said in the files `said_in` beside the file that a base or a name led to, and
// that `after` does not say there: "nics.rate". None where all of `before` was said there: then nothing was edited.
std::vector<std::string> lost_edits(const Tree& before, const Tree& after, const std::vector<std::string>& said_in);

}  // namespace shardsim
