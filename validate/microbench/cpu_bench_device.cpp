#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/rng.h"
#include "validate/execute/kernels/cpu_kernels.h"
#include "validate/execute/kernels/parallel.h"
#include "validate/execute/meet/clock.h"
#include "validate/microbench/bench_device.h"

namespace shardsim {
namespace {

constexpr std::int64_t kCacheIfUnknown = std::int64_t{32} << 20;
constexpr std::int64_t kMostCacheOfAmd = std::int64_t{96} << 20;  // that the cores of one complex share
constexpr std::int64_t kMemoryIfUnknown = std::int64_t{2} << 30;

// The text behind `key` and its colon in a file of /proc; "" when it is not there.
std::string value_in(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t begin = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return "";
}

std::int64_t free_memory() {
  std::int64_t kibibytes = 0;
  std::istringstream(value_in("/proc/meminfo", "MemAvailable")) >> kibibytes;
  return kibibytes > 0 ? kibibytes * 1024 : kMemoryIfUnknown;
}

// The last cache that a core of this machine can use. The kernel's figure goes first: of some AMD processors the C
// library multiplies the cache by the cores of the whole socket, ten times what there is. Virtual machines may have no
// figure of the kernel; there every flush would read a gibibyte.
std::int64_t last_cache_bytes() {
  std::int64_t kibibytes = 0;
  std::ifstream("/sys/devices/system/cpu/cpu0/cache/index3/size") >> kibibytes;  // "32768K"
  if (kibibytes > 0) return kibibytes * 1024;
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (cache <= 0) return kCacheIfUnknown;
  const bool is_amd = value_in("/proc/cpuinfo", "vendor_id") == "AuthenticAMD";
  return is_amd ? std::min<std::int64_t>(cache, kMostCacheOfAmd) : cache;
}

// The CPU of this process as the system describes it.
DeviceFacts cpu_facts(int threads) {
  DeviceFacts facts;
  facts.name = value_in("/proc/cpuinfo", "model name");
  if (facts.name.empty()) facts.name = "CPU";
  facts.software = "shardsim CPU kernels " + version();
  facts.num_gpus = 0;
  facts.threads = threads;
  facts.memory_bytes = free_memory() / 2;  // the rest of the machine lives too
  facts.cache_bytes = last_cache_bytes();
  facts.more = {{"processors", std::to_string(std::thread::hardware_concurrency())},
                {"cpu_MHz_as_read", value_in("/proc/cpuinfo", "cpu MHz")}};
  return facts;
}

// Memory that a call frees stays with the process, as a trainer's allocator keeps it: else an update's lists come from
// the system again, page by page, in some calls and not in others.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

// Reads whole lines; what it returns keeps the compiler from leaving them out.
SHARDSIM_VECTOR_CLONES std::uint64_t read_lines(const std::byte* data, std::int64_t lines) {
  std::uint64_t sum[kCacheLine / 8] = {};
  for (std::int64_t line = 0; line < lines; ++line) {
    std::uint64_t words[kCacheLine / 8];
    std::memcpy(words, data + line * kCacheLine, sizeof(words));
    for (std::size_t w = 0; w < kCacheLine / 8; ++w) sum[w] ^= words[w];
  }
  std::uint64_t all = 0;
  for (const std::uint64_t part : sum) all ^= part;
  return all;
}

class CpuBenchDevice final : public BenchDevice {
 public:
  CpuBenchDevice(int threads, const DeviceFacts& facts, double (*now)())
      : BenchDevice(facts, {8 * facts.cache_bytes / kCacheLine * kCacheLine, 16}), threads_(threads), now_(now) {
    keep_freed_memory();
  }

  bool can(const BenchPoint& point) const override {
    return (BenchDevice::can(point) && point.precision == Precision::fp32) || point.op == BenchOp::copy;
  }

 private:
  // On large pages where the system gives them, so that random rows do not time the address translation of small ones.
  DeviceMemory memory(std::int64_t bytes, const char*) override {
    if (bytes == 0) return {};
    const auto size = static_cast<std::size_t>(bytes);
    void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
      throw run_error(fmt::format("{} MB of memory: {}", bytes / 1'000'000, std::strerror(errno)),
                      "Free memory, or run a smaller sweep (--quick)");
    DeviceMemory owned({mapped, [size](void* data) { munmap(data, size); }}, bytes);
    madvise(mapped, size, MADV_HUGEPAGE);  // a wish: where it is not granted, small pages serve
    std::memset(mapped, 0, size);
    return owned;
  }

  void upload(void* to, const void* from, std::int64_t bytes) override { copy(to, from, bytes); }

  // Without a pattern that a memory controller could exploit; cheap, because tables are large.
  void fill(ElementType type, std::int64_t elements, void* values) override {
    // The same small numbers in 16 bits: 0x3000 is 0.125 as a half, 0x3e00 is 0.125 as a bfloat16.
    const auto base = static_cast<std::uint16_t>(type == ElementType::fp16 ? 0x3000 : 0x3e00);
    run_intervals(elements, threads_, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t i = first; i < end; ++i) {
        const std::uint64_t random = static_cast<std::uint64_t>(i) * kGolden;
        if (type == ElementType::fp32) {
          static_cast<float*>(values)[i] = static_cast<float>(random >> 44) * 0x1p-20F - 0.5F;
        } else {
          static_cast<std::uint16_t*>(values)[i] = static_cast<std::uint16_t>(base | (random >> 57));
        }
      }
    });
  }

  double timed_us(int calls, const std::function<void()>& call) override {
    const double start = now_();
    for (int i = 0; i < calls; ++i) call();
    return 1e6 * (now_() - start);
  }

  void do_nothing() override {
    run_parts(threads_, [](int) {});
  }

  void copy(void* to, const void* from, std::int64_t bytes) override {
    run_intervals(bytes, threads_, [&](std::int64_t first, std::int64_t end) {
      std::memcpy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                  static_cast<std::size_t>(end - first));
    });
  }

  void read(const void* from, std::int64_t bytes, int passes) override {
    run_intervals(bytes / kCacheLine, threads_, [&](std::int64_t first, std::int64_t end) {
      for (int pass = 0; pass < passes; ++pass)
        sink(read_lines(static_cast<const std::byte*>(from) + first * kCacheLine, end - first));
    });
  }

  // Every core's own caches, too.
  void sweep(const DeviceMemory& swept) override {
    run_parts(threads_, [&](int) { sink(read_lines(swept.as<std::byte>(), swept.bytes() / kCacheLine)); });
  }

  void made_ready() override { tables_ = point_.table_batch(); }

  void lookup() override {
    pooled_lookup(tables_, of().arena.as<void>(), indices(), offsets(), of().out.as<float>(), threads_);
  }
  void update() override {
    update_pooled(tables_, of().arena.as<void>(), of().state.as<float>(), indices(), offsets(),
                  of().gradients.as<float>(), point_.settings(), threads_);
  }
  void gather() override {
    gather_rows(point_.type, tables_.rows[0], tables_.dim[0], of().arena.as<void>(), indices(), of().out.as<void>(),
                threads_);
  }
  void scatter() override {
    update_rows(point_.type, tables_.rows[0], tables_.dim[0], of().arena.as<void>(), of().state.as<float>(), indices(),
                of().gradients.as<float>(), point_.settings(), threads_);
  }
  void gemm() override {
    shardsim::gemm(point_.m, point_.n, point_.k, of().a.as<float>(), of().b.as<float>(), of().out.as<float>(),
                   threads_);
  }

  static std::span<const std::int64_t> numbers_in(const DeviceMemory& memory) {
    return {memory.as<std::int64_t>(), static_cast<std::size_t>(memory.bytes() / 8)};
  }
  std::span<const std::int64_t> indices() const { return numbers_in(of().indices); }
  std::span<const std::int64_t> offsets() const { return numbers_in(of().offsets); }
  void sink(std::uint64_t value) { sink_.fetch_xor(value, std::memory_order_relaxed); }

  int threads_;
  double (*now_)();  // seconds of the clock that times are taken by
  TableBatch tables_;
  std::atomic<std::uint64_t> sink_{0};
};

}  // namespace

std::unique_ptr<BenchDevice> make_cpu_bench_device(int threads) {
  const auto processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int used = threads > 0 ? threads : processors;
  return std::make_unique<CpuBenchDevice>(used, cpu_facts(used), monotonic_seconds);
}

std::unique_ptr<BenchDevice> make_cpu_bench_device_by_processor_time() {
  return std::make_unique<CpuBenchDevice>(1, cpu_facts(1), processor_seconds);
}

}  // namespace shardsim
