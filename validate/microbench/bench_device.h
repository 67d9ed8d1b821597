#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "validate/microbench/bench_input.h"
#include "validate/microbench/bench_point.h"

namespace shardsim {

struct DeviceFacts {
  std::string name;               // "NVIDIA A100-SXM4-40GB"; the CPU's model name
  std::string software;           // of the kernels, with versions: "shardsim CUDA kernels, CUDA 12.4, driver 550.54"
  int num_gpus = 1;               // 0: a CPU
  int threads = 0;                // CPU
  std::int64_t memory_bytes = 0;  // that points may use
  std::int64_t cache_bytes = 0;   // last level: L2 of a GPU, L3 of a CPU
  // What else is known, for the file alone: compute_capability, sm_count, driver, cuda_runtime, sm_clock_MHz ...
  std::vector<std::pair<std::string, std::string>> more;
};

// What the micro-benchmark times: one GPU, or the threads of one CPU process. It is told a point, and then runs it as
// often as asked. Everything is allocated and filled in prepare(); run_us() allocates nothing.
// Tables are filled with small values (|x| < 1), gradients too; what they are does not matter for the time.
class BenchDevice {
 public:
  virtual ~BenchDevice() = default;
  virtual DeviceFacts facts() const = 0;

  // Replaces the point before it and frees its memory first. Errors: Failure::run when it does not fit.
  virtual void prepare(const BenchPoint& point, const BenchInput& input) = 0;
  virtual double run_us() = 0;  // one call of the prepared point: device time between two events, in us
  virtual void flush() = 0;     // evicts the caches: touches at least 2 x cache_bytes, and waits until it is done

  // Limits of the device, each a few calls, the best of them; they replace the prepared point.
  virtual double copy_bandwidth() = 0;             // bytes/s read plus written, buffers far above the cache
  virtual double cache_bandwidth() = 0;            // bytes/s read, a buffer that the last-level cache holds
  virtual double launch_floor_us() = 0;            // an empty kernel; CPU: an empty call of the threads
  virtual double read_us(std::int64_t bytes) = 0;  // streaming read of so many bytes, uncached: the plain bound
};

struct BenchDeviceEntry {
  std::string_view name;  // as --device has it
  std::string_view help;
  std::unique_ptr<BenchDevice> (*make)(int threads);
};

std::span<const BenchDeviceEntry> bench_devices();  // alphabetical; "cuda" only where it was built

// What the devices of the table are made by. threads: of the CPU, 0 for one per processor.
std::unique_ptr<BenchDevice> make_cpu_bench_device(int threads);
std::unique_ptr<BenchDevice> make_cuda_bench_device(int threads);

}  // namespace shardsim
