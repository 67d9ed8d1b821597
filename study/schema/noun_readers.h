#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/tree/tree.h"

namespace shardsim {

// The reader of a noun of files, such as a workload or a planner, and the specimens that it is shown to learn what it
// asks for: those of scenarios/specimens/schemas.yaml under the noun's name, and a bare map for each name that it
// knows.
struct NounReader {
  std::string name;
  std::function<void(const Tree&)> read;  // throws Error where it refuses
  std::vector<Tree> specimens;
};

// Every noun whose struct does not say its keys itself; a noun that stands within others comes before them.
std::vector<NounReader> noun_readers();

}  // namespace shardsim
