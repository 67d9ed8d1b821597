#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

namespace shardsim::on_cpu {

// What this process asked of CUDA so far, where a result does not show it. Launching thread only.
struct Seen {
  std::vector<int> priorities;      // of the streams, in the order in which they were made
  int events = 0;                   // made
  int allocations = 0;              // of device memory
  std::string module_loading;       // CUDA_MODULE_LOADING when memory or a stream was first made; "-": not set
  std::vector<const void*> copied;  // where copies inside the device's memory, on streams, came from
};
Seen& seen();

// To be called where CUDA would initialise itself.
void see_start();

}  // namespace shardsim::on_cpu
