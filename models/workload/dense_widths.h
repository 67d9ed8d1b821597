#pragma once

#include <string>

#include "models/workload/workload.h"

namespace shardsim {

// A sentence where the first layer above the bottom ones reads another number of columns than the interaction gives, or
// than any usual one would where the workload states none; "" where it fits, or where too little is known to say.
std::string dense_width_note(const Workload& workload);

}  // namespace shardsim
