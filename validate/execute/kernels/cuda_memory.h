#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

namespace shardsim::cuda {

using Stream = cudaStream_t;

// Errors: Failure::run with CUDA's own text. `doing`: what was under way ("lookup_row_wise").
void check(cudaError_t code, const std::string& doing);
// Returns the number of GPUs. Errors: Failure::run with the reason where CUDA can use none, such as a driver that is
// older than the toolkit; `who` begins the message ("rank 3: ").
int device_count(const std::string& who = "");
void check_launch(const std::string& doing);  // of the kernel launch just made

// Device memory of one owner; movable. Errors: Failure::run naming what it is for, its size and what was free.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(std::size_t bytes, const std::string& what);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  std::size_t bytes() const { return bytes_; }
  void* data() const { return data_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

  // Synchronous copies of the first `bytes` bytes; not for timed parts.
  void upload(const void* from, std::size_t bytes);
  void download(void* to, std::size_t bytes) const;
  void clear();

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Page-locked memory of the host, of one owner, that kernels read and write over the bus by the same address; zeros.
// Errors: Failure::run naming what it is for and its size.
class HostBuffer {
 public:
  HostBuffer(std::size_t bytes, const std::string& what);
  ~HostBuffer();
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// Has CUDA load kernels when a GPU is first used, not when each is first launched, which would wait for what runs.
// Before the first call of CUDA; a variable CUDA_MODULE_LOADING that is set stays.
void load_kernels_early();

int multiprocessors();  // of the current device

std::string driver_version();           // of the kernel module: the runtime knows only which CUDA it supports
std::string version_text(int version);  // 12040, as CUDA writes it, is "12.4"

}  // namespace shardsim::cuda
