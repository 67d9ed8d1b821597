#include <algorithm>
#include <cmath>
#include <functional>

#include "validate/execute/kernels/cuda_embedding.h"
#include "validate/execute/kernels/cuda_work.h"

namespace shardsim::cuda {
namespace {

constexpr std::int64_t kSmallestSide = 64, kLargestSide = 4096;
constexpr double kMostMs = 0.2;  // of a product: the rest of a duration is shorter
constexpr int kProducts = 8;     // timed together; the first ones are not

float milliseconds_of(int products, const std::function<void()>& one, Stream stream) {
  cudaEvent_t start = nullptr, end = nullptr;
  check(cudaEventCreate(&start), "an event");
  check(cudaEventCreate(&end), "an event");
  for (int i = 0; i < products; ++i) one();
  check(cudaEventRecord(start, stream), "timing of products");
  for (int i = 0; i < products; ++i) one();
  check(cudaEventRecord(end, stream), "timing of products");
  check(cudaEventSynchronize(end), "timing of products");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start, end), "timing of products");
  cudaEventDestroy(start);
  cudaEventDestroy(end);
  return milliseconds / static_cast<float>(products);
}

}  // namespace

BusyWork::BusyWork() : precision_(Gemm::by_library() ? Precision::bf16 : Precision::fp32) {}

void BusyWork::multiply(Stream stream) {
  const std::int64_t bytes = side_ * side_ * element_bytes(elements_of(precision_));
  char* const a = matrices_.as<char>();
  gemm_.multiply(precision_, side_, side_, side_, a, a + bytes, a + 2 * bytes, stream);
}

void BusyWork::reserve(std::int64_t side) {
  const ElementType type = elements_of(precision_);
  side_ = side;
  matrices_ = DeviceBuffer(static_cast<std::size_t>(3 * side * side * element_bytes(type)), "what keeps the GPU busy");
  fill(type, 3 * side * side, 5, matrices_.data(), nullptr);
  check(cudaDeviceSynchronize(), "what keeps the GPU busy");
  gemm_.prepare(precision_, side, side, side);
}

// The largest product that is short enough: large ones fill the GPU, short ones leave little of a duration over. Twice
// the side takes at most eight times as long.
void BusyWork::prepare(Stream stream) {
  if (product_ns_ > 0) return;
  double milliseconds = 0;
  for (std::int64_t side = kSmallestSide; side <= kLargestSide && 8 * milliseconds <= kMostMs; side *= 2) {
    reserve(side);
    milliseconds = static_cast<double>(milliseconds_of(
        kProducts, [&] { multiply(stream); }, stream));
  }
  product_ns_ = std::max<std::int64_t>(1, std::llround(milliseconds * 1e6));
}

void BusyWork::run(std::int64_t nanoseconds, Stream stream) {
  for (; product_ns_ > 0 && nanoseconds >= product_ns_; nanoseconds -= product_ns_) multiply(stream);
  if (nanoseconds > 0) pass(nanoseconds, stream);
}

}  // namespace shardsim::cuda
