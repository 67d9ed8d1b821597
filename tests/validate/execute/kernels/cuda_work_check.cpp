#include <cmath>
#include <cstdint>

#include "base/rng.h"
#include "tests/validate/execute/kernels/cuda_checks.h"
#include "tests/validate/execute/kernels/random_batch.h"
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
  gemm.multiply(m, n, k, device_a.as<float>(), device_b.as<float>(), c.as<float>(), nullptr);
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

}  // namespace

void check_work(CheckTally& tally) {
  for (const std::int64_t size : {1, 16, 64, 65, 100}) {
    const std::string what = "product of " + std::to_string(size);
    tally.record(what + ", square", product_fault(size, size, size));
    tally.record(what + ", oblong", product_fault(size, 33, 70));
  }
  for (const std::int64_t count : {1, 1000}) tally.record("ids of 4 bytes", ids_fault(count));
  tally.record("a duration of 2 ms", pass_fault(2'000'000));
}

}  // namespace shardsim
