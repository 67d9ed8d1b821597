#include "validate/execute/kernels/cuda_memory.h"

#include <cuda_runtime.h>

#include <utility>

#include "base/error.h"

namespace shardsim::cuda {
namespace {

std::string mib(std::size_t bytes) {
  return std::to_string((bytes + (std::size_t{1} << 20) - 1) >> 20) + " MiB";
}

Error out_of_memory(std::size_t bytes, const std::string& what) {
  std::size_t free = 0, total = 0;
  cudaGetLastError();  // the failed allocation is not an error of the next call
  std::string had = cudaMemGetInfo(&free, &total) == cudaSuccess ? mib(free) + " of " + mib(total) + " are free"
                                                                 : "how much is free is not known";
  return run_error("out of GPU memory: " + what + " needs " + mib(bytes) + ", and " + had,
                   "Use a smaller batch or more GPUs, or end what else runs on this GPU (nvidia-smi)");
}

}  // namespace

void check(cudaError_t code, const std::string& doing) {
  if (code == cudaSuccess) return;
  throw run_error(doing + ": CUDA says '" + cudaGetErrorString(code) + "' (" + cudaGetErrorName(code) + ")",
                  "Look at the state of the GPU (nvidia-smi) and run 'compute-sanitizer' if this comes again");
}

void check_launch(const std::string& doing) {
  check(cudaGetLastError(), doing);
}

DeviceBuffer::DeviceBuffer(std::size_t bytes, const std::string& what) : bytes_(bytes) {
  if (bytes == 0) return;
  const cudaError_t code = cudaMalloc(&data_, bytes);
  if (code == cudaErrorMemoryAllocation) throw out_of_memory(bytes, what);
  check(code, "allocation of " + what);
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ != nullptr) cudaFree(data_);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

// The copies are ordered against a stream of its own, so they wait for all streams.
void DeviceBuffer::upload(const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpy(data_, from, bytes, cudaMemcpyHostToDevice), "copy to the GPU");
  check(cudaDeviceSynchronize(), "copy to the GPU");
}

void DeviceBuffer::download(void* to, std::size_t bytes) const {
  if (bytes == 0) return;
  check(cudaDeviceSynchronize(), "copy from the GPU");
  check(cudaMemcpy(to, data_, bytes, cudaMemcpyDeviceToHost), "copy from the GPU");
}

void DeviceBuffer::clear() {
  if (bytes_ == 0) return;
  check(cudaMemset(data_, 0, bytes_), "clearing of GPU memory");
  check(cudaDeviceSynchronize(), "clearing of GPU memory");
}

int multiprocessors() {
  int device = 0, count = 0;
  check(cudaGetDevice(&device), "the current GPU");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "properties of the GPU");
  return count;
}

}  // namespace shardsim::cuda
