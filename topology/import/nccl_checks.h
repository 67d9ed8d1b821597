#pragma once

#include <string>
#include <vector>

#include "topology/import/xml.h"

namespace shardsim {

// Refuses elements that NCCL does not write, below any element. Attributes that it does not write are only counted:
// returns them as "gpu.colour", each once. Errors: Failure::input at the element.
std::vector<std::string> check_nccl_elements(const XmlElement& system);

// Every bus id of a host once and none below itself; every pcilink leads to another of them. Errors: Failure::input at
// the element.
void check_bus_ids(const XmlElement& system);

}  // namespace shardsim
