#pragma once

#include "base/schema/explore.h"

namespace shardsim {

// The questions to the readers of each noun that a scenario is made of. The root of each specimen is that noun.
Inquiry workload_inquiry();
Inquiry plan_inquiry();
Inquiry scenario_inquiry();

// Planners, models, networks, software, loads, drift, cross-checks and constraints.
std::vector<Inquiry> option_inquiries();

}  // namespace shardsim
