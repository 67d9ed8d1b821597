#pragma once

#include <string>

#include "study/notes/notes.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// That a GPU holds more at its simulated peak than is left beside what is reserved, or little less; nothing else. Asks
// for the memory of `known.result` alone.
Notes peak_note(const Known& known);

// "the 76.15 GiB of a GPU (of its 79.65, 3.5 are reserved)": what a GPU has for a plan.
std::string room_text(const Cluster& cluster);

}  // namespace shardsim
