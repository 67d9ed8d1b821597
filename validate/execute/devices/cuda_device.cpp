#include "validate/execute/devices/cuda_device.h"

#include <cuda_runtime_api.h>

#include <fstream>

#include "base/error.h"
#include "validate/execute/devices/nccl_set.h"
#include "validate/execute/kernels/cuda_memory.h"

namespace shardsim {

std::string driver_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  std::getline(file, version);
  return version;
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int choose_device(const Launch& launch) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
    throw run_error("rank " + std::to_string(launch.rank) + ": no GPU that CUDA can use is here",
                    "Look at nvidia-smi and CUDA_VISIBLE_DEVICES; --device cpu runs without one");
  if (launch.local_size > count && !NcclSet::shares_gpus())
    throw run_error(std::to_string(launch.local_size) + " ranks of this node share " + std::to_string(count) +
                        " GPUs, which NCCL " + NcclSet::version() + " does not do",
                    "Start one rank per GPU; from NCCL 2.30 on, NCCL_MULTI_RANK_GPU_ENABLE=1 allows more");
  const int device = launch.local_rank % count;
  cuda::check(cudaSetDevice(device), "choosing GPU " + std::to_string(device));
  return device;
}

Timeline::Measured gpu_facts(int device) {
  Timeline::Measured facts;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device) == cudaSuccess) facts.device = properties.name;
  facts.driver = driver_version();
  int runtime = 0;
  if (cudaRuntimeGetVersion(&runtime) == cudaSuccess) facts.cuda = cuda_version_text(runtime);
  facts.nccl = NcclSet::version();
  facts.transport = "nccl";
  return facts;
}

}  // namespace shardsim
