#include "validate/execute/devices/cuda_dense.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace shardsim {
namespace {

using cuda::DeviceBuffer;

constexpr std::int64_t kLargestSide = 4096;             // of the square matrices of one product
constexpr std::size_t kBlock = std::size_t{256} << 20;  // bytes of a copy before it starts over: beyond the caches

// Products of side x side x side matrices, the last one with fewer rows.
std::int64_t side_of(double flops) {
  const auto side = static_cast<std::int64_t>(std::cbrt(flops / 2) / 64) * 64;
  return std::clamp<std::int64_t>(side, 64, kLargestSide);
}

void grow(DeviceBuffer& buffer, std::size_t bytes, const char* what) {
  if (buffer.bytes() >= bytes) return;
  buffer = DeviceBuffer();
  buffer = DeviceBuffer(bytes, what);
  buffer.clear();
}

void grow_matrix(DeviceBuffer& matrix, std::int64_t side) {
  const auto count = static_cast<std::size_t>(side * side);
  if (matrix.bytes() >= count * sizeof(float)) return;
  grow(matrix, count * sizeof(float), "a matrix of the dense part");
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 2654435761U % 1024U) / 1024.0F - 0.5F;
  matrix.upload(values.data(), count * sizeof(float));
}

}  // namespace

void CudaDense::reserve(double flops, double bytes) {
  if (flops > 0) {
    if (!gemm_) gemm_ = std::make_unique<cuda::Gemm>();
    for (DeviceBuffer* matrix : {&a_, &b_, &c_}) grow_matrix(*matrix, side_of(flops));
  }
  const std::size_t block = std::min(static_cast<std::size_t>(bytes / 2), kBlock);
  for (DeviceBuffer* buffer : {&from_, &to_}) grow(*buffer, block, "bytes of the dense part");
}

void CudaDense::compute(double flops, cuda::Stream stream) {
  if (flops <= 0) return;
  const std::int64_t side = side_of(flops);
  auto rows = static_cast<std::int64_t>(flops / (2.0 * static_cast<double>(side * side)) + 0.5);
  for (; rows > 0; rows -= side) {
    gemm_->multiply(std::min(rows, side), side, side, a_.as<float>(), b_.as<float>(), c_.as<float>(), stream);
  }
}

void CudaDense::move(double bytes, cuda::Stream stream) {
  auto left = static_cast<std::size_t>(bytes / 2);
  while (left > 0) {
    const std::size_t part = std::min(left, from_.bytes());
    cuda::check(cudaMemcpyAsync(to_.data(), from_.data(), part, cudaMemcpyDeviceToDevice, stream), "a copy");
    left -= part;
  }
}

std::int64_t CudaDense::bytes() const {
  return static_cast<std::int64_t>(a_.bytes() + b_.bytes() + c_.bytes() + from_.bytes() + to_.bytes());
}

}  // namespace shardsim
