#include <chrono>
#include <cmath>
#include <cstdint>

#include "base/rng.h"
#include "tests/validate/execute/kernels/cuda_checks.h"
#include "tests/validate/execute/kernels/embedding_reference.h"
#include "tests/validate/execute/kernels/random_batch.h"
#include "validate/execute/kernels/cuda_embedding.h"
#include "validate/execute/kernels/cuda_work.h"

namespace shardsim {
namespace {

using cuda::DeviceBuffer;

std::vector<float> random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  for (float& value : values) value = small_real(rng);
  return values;
}

std::string product_fault(std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::vector<float> a = random_matrix(m, k, 1), b = random_matrix(k, n, 2);
  const DeviceBuffer device_a = on_device(a), device_b = on_device(b), c = on_device(random_matrix(m, n, 3));
  cuda::Gemm gemm;
  gemm.prepare(Precision::fp32, m, n, k);
  gemm.multiply(Precision::fp32, m, n, k, device_a.data(), device_b.data(), c.data(), nullptr);
  const std::vector<float> got = from_device<float>(c);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += static_cast<double>(a[i * k + l]) * b[l * n + j];
      // Numbers below 1, plain fp32: TF32 would be off by some 1e-3.
      if (!(std::abs(got[i * n + j] - sum) <= 1e-6 * static_cast<double>(k)))
        return "element " + std::to_string(i) + ", " + std::to_string(j) + " is " + std::to_string(got[i * n + j]) +
               ", not " + std::to_string(sum);
    }
  return {};
}

std::string ids_fault(std::int64_t count) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(i * 1'000'003 % (std::int64_t{1} << 31));
  const DeviceBuffer wide = on_device(ids), narrow(static_cast<std::size_t>(count) * 4, "a check"),
                     back(static_cast<std::size_t>(count) * 8, "a check");
  cuda::narrow_ids(wide.as<std::int64_t>(), count, narrow.as<std::int32_t>(), nullptr);
  cuda::widen_ids(narrow.as<std::int32_t>(), count, back.as<std::int64_t>(), nullptr);
  return from_device<std::int64_t>(back) == ids ? "" : "ids of 4 bytes come back as others";
}

// A kernel that shall last so long lasts no shorter, by the events around it.
std::string pass_fault(std::int64_t nanoseconds) {
  cudaEvent_t start = nullptr, end = nullptr;
  cuda::check(cudaEventCreate(&start), "an event");
  cuda::check(cudaEventCreate(&end), "an event");
  cuda::check(cudaEventRecord(start), "an event");
  cuda::pass(nanoseconds, nullptr);
  cuda::check(cudaEventRecord(end), "an event");
  cuda::check(cudaEventSynchronize(end), "an event");
  float milliseconds = 0;
  cuda::check(cudaEventElapsedTime(&milliseconds, start, end), "an event");
  cudaEventDestroy(start);
  cudaEventDestroy(end);
  const double asked = static_cast<double>(nanoseconds) * 1e-6;
  return milliseconds >= 0.98 * asked - 0.003 ? "" : "lasted " + std::to_string(milliseconds) + " ms";
}

// The stored type is that of the precision, so results are rounded to it; tf32 rounds what it multiplies to 11 bits.
std::string precision_fault(Precision precision) {
  if (!cuda::Gemm::by_library()) return {};
  constexpr std::int64_t kSide = 128;
  const ElementType type = elements_of(precision);
  const auto bytes = static_cast<std::size_t>(kSide * kSide * element_bytes(type));
  const DeviceBuffer a(bytes, "a check"), b(bytes, "a check"), c(bytes, "a check");
  cuda::fill(type, kSide * kSide, 1, a.data(), nullptr);
  cuda::fill(type, kSide * kSide, 2, b.data(), nullptr);
  cuda::Gemm gemm;
  gemm.prepare(precision, kSide, kSide, kSide);
  gemm.multiply(precision, kSide, kSide, kSide, a.data(), b.data(), c.data(), nullptr);
  const auto left = from_device<std::byte>(a), right = from_device<std::byte>(b), got = from_device<std::byte>(c);
  const double most = precision == Precision::tf32 ? 0x1p-10 : 2 * reference::rounding(type);
  for (std::int64_t i = 0; i < kSide; ++i)
    for (std::int64_t j = 0; j < kSide; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t l = 0; l < kSide; ++l) {
        const double part = reference::element(type, left.data(), i * kSide + l) *
                            reference::element(type, right.data(), l * kSide + j);
        sum += part;
        size += std::abs(part);
      }
      const double value = reference::element(type, got.data(), i * kSide + j);
      if (!(std::abs(value - sum) <= most * size + 1e-5))
        return "element " + std::to_string(i) + ", " + std::to_string(j) + " is " + std::to_string(value) + ", not " +
               std::to_string(sum);
    }
  return {};
}

// The stream is held so long, by products of which each is a part of the time.
std::string busy_fault_once(std::int64_t nanoseconds) {
  cuda::BusyWork busy;
  busy.prepare(nullptr);
  if (busy.product_ns() <= 0) return "a product takes no time";
  const auto start = std::chrono::steady_clock::now();
  busy.run(nanoseconds, nullptr);
  cuda::check(cudaDeviceSynchronize(), "a check");
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  // Products run faster by themselves than those that were timed; not twice as fast.
  return took.count() >= 0.5 * static_cast<double>(nanoseconds) ? "" : "lasted " + std::to_string(took.count()) + " ns";
}

// The fault of the last of up to five attempts; "" when one succeeds. Other work on the machine lengthens the products
// that are timed, and so shortens the duration.
std::string busy_fault(std::int64_t nanoseconds) {
  std::string fault;
  for (int attempt = 0; attempt < 5; ++attempt) {
    fault = busy_fault_once(nanoseconds);
    if (fault.empty()) break;
  }
  return fault;
}

}  // namespace

void check_work(CheckTally& tally) {
  for (const std::int64_t size : {1, 16, 64, 65, 100}) {
    const std::string what = "product of " + std::to_string(size);
    tally.record(what + ", square", product_fault(size, size, size));
    tally.record(what + ", oblong", product_fault(size, 33, 70));
  }
  for (const std::int64_t count : {1, 1000}) tally.record("ids of 4 bytes", ids_fault(count));
  tally.record("a duration of 2 ms", pass_fault(2'000'000));
  tally.record("a duration of 3 ms, kept busy", busy_fault(3'000'000));
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16}) {
    tally.record("product in precision " + std::to_string(static_cast<int>(precision)), precision_fault(precision));
  }
}

}  // namespace shardsim
