#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/import/node_inventory.h"

namespace shardsim {

// Reads what other programs list of a node in the file of its matrix.

// The GPU as `nvidia-smi` or `nvidia-smi -L` names it ("NVIDIA H100 80GB HBM3"); "" where the text has neither, or a
// name that was cut. Errors (Failure::input): GPUs of several models.
std::string listed_gpu(std::string_view text, const std::string& source);

// Gives NICs the rate and the link layer that `ibstat` or `ibv_devinfo` state for their names, of their first port
// that is up.
void take_listed_nics(const std::vector<std::string>& lines, NodeInventory& node);

}  // namespace shardsim
