#pragma once

#include <string>
#include <vector>

#include "study/scenario/scenario.h"

namespace shardsim {

// Names what the command line drops when it replaces a whole cluster, workload, software or model: `--set cluster=NAME`
// also drops `nodes: 4`, which the scenario states beside the base of its cluster. The result are sentences, each once,
// with the cases that it holds for. There is none for a value that a later --set states again. The scenario is one that
// read_scenario() has accepted.
std::vector<std::string> dropped_edits(const std::string& path, const Overrides& overrides);

// The paths within `before`, such as "nics.rate", of the values that the files `said_in` state in addition to the base
// or the named file, and that `after` does not have from these files. Empty if the files state all of `before`, because
// then nothing was edited.
std::vector<std::string> lost_edits(const Tree& before, const Tree& after, const std::vector<std::string>& said_in);

}  // namespace shardsim
