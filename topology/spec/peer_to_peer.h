#pragma once

#include <string_view>

namespace shardsim {

// False for GeForce GPUs of the series 40 and 50, to which NVIDIA's driver gives no direct copies
// (NVIDIA/nccl-tests#117 and #287): they meet in the memory of the host. A file may name them as the catalogue does, as
// nvidia-smi prints them, or as people write them.
bool has_peer_to_peer(std::string_view model);

}  // namespace shardsim
