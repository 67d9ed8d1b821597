#pragma once

#include <map>
#include <string>
#include <vector>

namespace shardsim {

// Small files, as YAML, that readers take: one of each sort that they tell apart. Most keys need not be there:
// exploring the readers adds them (base/schema/explore.h). `values` are what those keys hold that no reader can guess.
using SpecimenValues = std::map<std::string, std::vector<std::string>>;

std::vector<std::string> workload_specimens();
SpecimenValues workload_values();

// Plans of `plan_workload` on `plan_cluster`.
std::vector<std::string> plan_specimens();
SpecimenValues plan_values();
std::string plan_workload();
std::string plan_cluster();

std::vector<std::string> scenario_specimens();
SpecimenValues scenario_values();

}  // namespace shardsim
