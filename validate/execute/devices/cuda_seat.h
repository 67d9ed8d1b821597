#pragma once

#include <cstdint>
#include <string>

#include "program/timeline/timeline.h"
#include "validate/execute/meet/rendezvous.h"

namespace shardsim {

// Collective. The GPU of this rank, which is the current one from then on: of several that its process sees that of its
// place on the node; of one, that one, which the launcher has chosen. Errors: Failure::run where none is there;
// Failure::input, the same on all ranks, those of check_layout.
int seated_device(int ranks_per_node, Rendezvous& rendezvous);

// Device, driver, CUDA and NCCL, as far as they say.
Timeline::Measured gpu_facts(int device);
std::string pci_address(int device);  // "" where there is none
std::int64_t free_memory();           // bytes, of the current GPU

}  // namespace shardsim
