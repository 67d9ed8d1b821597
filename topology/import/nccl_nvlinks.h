#pragma once

#include <vector>

#include "topology/import/nccl_attributes.h"
#include "topology/import/node_inventory.h"

namespace shardsim {

// Fills `switch_links` or `pairs` of the inventory from the <nvlink> elements of its GPUs; `elements` and `ids` are
// theirs, in the order of node.gpus. Errors (Failure::input): a count below 1, a target that is no GPU of the file or
// the GPU itself, counts that differ between the two ends, GPUs linked both to a switch and to each other, GPUs of
// which only some are linked to a switch.
void join_nvlinks(const std::vector<const XmlElement*>& elements, const std::vector<BusId>& ids, NodeInventory& node);

}  // namespace shardsim
