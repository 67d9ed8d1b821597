#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/import/node_inventory.h"

namespace shardsim {

// Reads what other programs list of a node in the file of its matrix.

// A GPU as `nvidia-smi` or `nvidia-smi -L` names it, and the first line that does.
struct ListedGpu {
  std::string name;
  int line = 0;
};

// The models of which the text lists GPUs, each once; none where it has neither, or names that were cut.
std::vector<ListedGpu> listed_gpus(std::string_view text);

// Notes the GPUs of the catalogue that the text lists, and that are not of the model that --gpu names.
void note_other_gpus(std::string_view text, const GpuModel& model, NodeInventory& node);

// The GPU as `nvidia-smi` or `nvidia-smi -L` names it ("NVIDIA H100 80GB HBM3"); "" where the text has neither, or a
// name that was cut. Errors (Failure::input): GPUs of several models.
std::string listed_gpu(std::string_view text, const std::string& source);

// Gives NICs the rate and the link layer that `ibstat` or `ibv_devinfo` state for their names, of their first port
// that is up.
void take_listed_nics(const std::vector<std::string>& lines, NodeInventory& node);

}  // namespace shardsim
