#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

namespace shardsim::on_cpu {

// The calls of this process to CUDA so far that no result shows. Launching thread only.
struct Seen {
  std::vector<int> priorities;      // of the streams, in the order in which they were made
  int events = 0;                   // made
  std::string module_loading;       // CUDA_MODULE_LOADING when memory or a stream was first made; "-": not set
  std::vector<const void*> copied;  // where copies inside the device's memory, on streams, came from
};
Seen& seen();

// To be called where CUDA would initialise itself.
void see_start();

}  // namespace shardsim::on_cpu
