#include <cuda_runtime.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>

#include "tests/validate/execute/cuda_on_cpu/faults.h"
#include "tests/validate/execute/cuda_on_cpu/seen.h"
#include "tests/validate/execute/cuda_on_cpu/streams.h"

using shardsim::on_cpu::broken;
using shardsim::on_cpu::enqueue;
using shardsim::on_cpu::faults;
using shardsim::on_cpu::seen;

namespace {

constexpr int kPattern = 0xA7;  // of memory that nothing has written

std::map<void*, std::size_t>& allocations() {
  static std::map<void*, std::size_t> sizes;
  return sizes;
}

std::size_t used() {
  std::size_t sum = 0;
  for (const auto& [data, bytes] : allocations()) sum += bytes;
  return sum;
}

// Keeps freed memory in the process: taking it from the system again, page by page, takes longer than all work on it.
void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

}  // namespace

namespace shardsim::on_cpu {

Seen& seen() {
  static Seen of_process;
  return of_process;
}

void see_start() {
  if (!seen().module_loading.empty()) return;
  const char* const loading = std::getenv("CUDA_MODULE_LOADING");
  seen().module_loading = loading == nullptr ? "-" : loading;
}

}  // namespace shardsim::on_cpu

const char* cudaGetErrorString(cudaError_t code) {
  switch (code) {
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoKernelImageForDevice:
      return "no kernel image is available for execution on the device";
    default:
      return "an error of the stand-in for CUDA";
  }
}
const char* cudaGetErrorName(cudaError_t code) {
  return code == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress" : "cudaError";
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  shardsim::on_cpu::see_start();
  if (allocations().empty()) keep_freed_memory();
  if (used() + bytes > faults().memory) return cudaErrorMemoryAllocation;
  *data = nullptr;
  if (posix_memalign(data, 256, bytes) != 0) return cudaErrorMemoryAllocation;
  std::memset(*data, kPattern, bytes);
  allocations()[*data] = bytes;
  return broken();
}
// Waits for all that runs, as a GPU's does.
cudaError_t cudaFree(void* data) {
  cudaDeviceSynchronize();
  allocations().erase(data);
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) {
  if (posix_memalign(data, 4096, bytes) != 0) return cudaErrorMemoryAllocation;
  std::memset(*data, kPattern, bytes);
  return broken();
}
cudaError_t cudaFreeHost(void* data) {
  cudaDeviceSynchronize();
  std::free(data);
  return broken();
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = faults().memory;
  *free = faults().memory - used();
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  if (broken() == cudaSuccess && bytes > 0) std::memmove(to, from, bytes);
  return broken();
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (kind == cudaMemcpyDeviceToDevice) seen().copied.push_back(from);
  enqueue(stream, [=] {
    if (bytes > 0) std::memmove(to, from, bytes);
  });
  return broken();
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidValue;
  enqueue(stream, [=] {
    for (std::size_t row = 0; row < height; ++row) {
      std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
    }
  });
  return broken();
}
cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
  if (broken() == cudaSuccess) std::memset(data, value, bytes);
  return broken();
}
cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  enqueue(stream, [=] { std::memset(data, value, bytes); });
  return broken();
}

cudaError_t cudaSetDevice(int) {
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = faults().no_devices == 0 ? 1 : 0;
  return static_cast<cudaError_t>(faults().no_devices);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 2;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {"CPU in place of a GPU", {}, faults().memory, 1 << 20, 2, 0, 0};
  const int gpu = faults().gpu >= 0 ? faults().gpu : getpid();
  std::memcpy(properties->uuid.bytes, &gpu, sizeof gpu);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* address, int length, int) {
  if (length > 0) *address = 0;  // on no bus
  return cudaErrorInvalidValue;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 0;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 0;
  return cudaSuccess;
}
unsigned long long shardsim_global_timer() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<unsigned long long>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}
