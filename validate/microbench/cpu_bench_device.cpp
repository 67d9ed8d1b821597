#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/rng.h"
#include "validate/execute/kernels/cpu_kernels.h"
#include "validate/execute/kernels/parallel.h"
#include "validate/microbench/bench_device.h"

namespace shardsim {
namespace {

// Memory of a CPU device: zeroed, on large pages where the system gives them, so that random rows do not time the
// address translation of small ones. Errors: Failure::run when there is not so much.
class BenchMemory {
 public:
  BenchMemory() = default;
  explicit BenchMemory(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
      throw run_error(fmt::format("{} MB of memory: {}", bytes / 1'000'000, std::strerror(errno)),
                      "Free memory, or run a smaller sweep (--quick)");
    data_ = static_cast<std::byte*>(mapped);
    madvise(data_, bytes, MADV_HUGEPAGE);  // a wish: where it is not granted, small pages serve
    std::memset(data_, 0, bytes);
  }
  ~BenchMemory() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  BenchMemory(BenchMemory&& other) noexcept { swap(other); }
  BenchMemory& operator=(BenchMemory&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  template <typename Number>
  Number* as() const {
    return reinterpret_cast<Number*>(data_);
  }

 private:
  void swap(BenchMemory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

constexpr std::int64_t kCacheIfUnknown = std::int64_t{32} << 20;
constexpr std::int64_t kMemoryIfUnknown = std::int64_t{2} << 30;

// What follows `key` and its colon in a file of /proc; "" when it is not there.
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

// The CPU of this process as the system describes it.
DeviceFacts cpu_facts(int threads) {
  DeviceFacts facts;
  facts.name = value_in("/proc/cpuinfo", "model name");
  if (facts.name.empty()) facts.name = "CPU";
  facts.software = "shardsim CPU kernels " + version();
  facts.num_gpus = 0;
  facts.threads = threads;
  facts.memory_bytes = free_memory() / 2;  // the rest of the machine lives too
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  facts.cache_bytes = cache > 0 ? cache : kCacheIfUnknown;
  facts.more = {{"processors", std::to_string(std::thread::hardware_concurrency())},
                {"cpu_MHz_as_read", value_in("/proc/cpuinfo", "cpu MHz")}};
  return facts;
}

constexpr int kLimitRuns = 7;
constexpr std::int64_t kStream = 64;  // bytes that one step of the reading loop takes
constexpr std::int64_t kMostStreamed = std::int64_t{1} << 30;

template <typename Body>
double timed_us(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

template <typename Body>
double best_us(const Body& body) {
  double best = 1e300;
  for (int run = 0; run < kLimitRuns; ++run) best = std::min(best, body());
  return best;
}

// Reads whole lines; what it returns keeps the compiler from leaving them out.
SHARDSIM_VECTOR_CLONES std::uint64_t read_lines(const std::byte* data, std::int64_t lines) {
  std::uint64_t sum[kStream / 8] = {};
  for (std::int64_t line = 0; line < lines; ++line) {
    std::uint64_t words[kStream / 8];
    std::memcpy(words, data + line * kStream, sizeof(words));
    for (std::size_t w = 0; w < kStream / 8; ++w) sum[w] ^= words[w];
  }
  std::uint64_t all = 0;
  for (const std::uint64_t part : sum) all ^= part;
  return all;
}

// Small values without a pattern that a memory controller could exploit; cheap, because tables are large.
void fill_floats(float* values, std::int64_t count, int threads) {
  run_intervals(count, threads, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i)
      values[i] = static_cast<float>(static_cast<std::uint64_t>(i) * kGolden >> 44) * 0x1p-20F - 0.5F;
  });
}

class CpuBenchDevice final : public BenchDevice {
 public:
  explicit CpuBenchDevice(int threads) : threads_(threads), facts_(cpu_facts(threads)) {}

  DeviceFacts facts() const override { return facts_; }

  void prepare(const BenchPoint& point, const BenchInput& input) override {
    release();
    point_ = point;
    input_ = input;
    if (point.op == BenchOp::gemm) return prepare_gemm();
    tables_ = point.table_batch();
    arena_ = BenchMemory(static_cast<std::size_t>(point.table_bytes()));
    fill_arena();
    state_ = BenchMemory(static_cast<std::size_t>(point.state_bytes()));
    out_ = BenchMemory(static_cast<std::size_t>(point.output_bytes()));
    gradients_ = BenchMemory(static_cast<std::size_t>(4 * point.gradients()));
    fill_floats(gradients_.as<float>(), point.gradients(), threads_);
  }

  double run_us() override {
    return timed_us([&] { call(); });
  }

  void flush() override {
    if (swept_.bytes() == 0) swept_ = BenchMemory(static_cast<std::size_t>(2 * facts_.cache_bytes));
    run_parts(threads_, [&](int) { sink(read_lines(swept_.data(), lines_of(swept_))); });  // every core's own caches
  }

  double copy_bandwidth() override {
    release();
    const auto bytes = static_cast<std::size_t>(8 * facts_.cache_bytes);
    const BenchMemory from(bytes), to(bytes);
    const double us = best_us([&] { return timed_us([&] { copy(from, to); }); });
    return 2 * static_cast<double>(bytes) / us * 1e6;
  }

  double cache_bandwidth() override {
    const BenchMemory buffer(static_cast<std::size_t>(facts_.cache_bytes / 4));
    constexpr int kPasses = 16;  // in one timing: threads start slower than a cache is read
    const double us = best_us([&] { return timed_us([&] { read(buffer, lines_of(buffer), kPasses); }); });
    return kPasses * static_cast<double>(buffer.bytes()) / us * 1e6;
  }

  double launch_floor_us() override {
    return best_us([&] { return timed_us([&] { run_parts(threads_, [](int) {}); }); });
  }

  double read_us(std::int64_t bytes) override {
    const BenchMemory buffer(static_cast<std::size_t>(std::min(bytes, kMostStreamed) / kStream * kStream));
    const auto passes = static_cast<int>((bytes + kMostStreamed - 1) / kMostStreamed);
    const double us = best_us([&] {
      flush();
      return timed_us([&] { read(buffer, lines_of(buffer), passes); });
    });
    return us * static_cast<double>(bytes) / (static_cast<double>(buffer.bytes()) * passes);
  }

 private:
  void release() {
    arena_ = {};
    state_ = {};
    out_ = {};
    gradients_ = {};
    a_ = {};
    b_ = {};
  }

  void prepare_gemm() {
    a_ = BenchMemory(static_cast<std::size_t>(4 * point_.m * point_.k));
    b_ = BenchMemory(static_cast<std::size_t>(4 * point_.k * point_.n));
    out_ = BenchMemory(static_cast<std::size_t>(4 * point_.m * point_.n));
    fill_floats(a_.as<float>(), point_.m * point_.k, threads_);
    fill_floats(b_.as<float>(), point_.k * point_.n, threads_);
  }

  void fill_arena() {
    if (point_.type == ElementType::fp32) return fill_floats(arena_.as<float>(), elements(), threads_);
    // The same small numbers in 16 bits: 0x3000 is 0.125 as a half, 0x3e00 is 0.125 as a bfloat16.
    const auto base = static_cast<std::uint16_t>(point_.type == ElementType::fp16 ? 0x3000 : 0x3e00);
    auto* const values = arena_.as<std::uint16_t>();
    for (std::int64_t i = 0; i < elements(); ++i)
      values[i] = static_cast<std::uint16_t>(base | (static_cast<std::uint64_t>(i) * kGolden >> 57));
  }

  std::int64_t elements() const { return point_.table_bytes() / element_bytes(point_.type); }

  void call() {
    switch (point_.op) {
      case BenchOp::lookup:
        return lookup();
      case BenchOp::update:
        return update();
      case BenchOp::lookup_update:
        lookup();
        return update();
      case BenchOp::gather:
        return gather_rows(point_.type, tables_.rows[0], tables_.dim[0], arena_.data(), input_.indices, out_.data(),
                           threads_);
      case BenchOp::scatter:
        return update_rows(point_.type, tables_.rows[0], tables_.dim[0], arena_.data(), state_.as<float>(),
                           input_.indices, gradients_.as<float>(), point_.settings(), threads_);
      case BenchOp::gemm:
        return gemm(point_.m, point_.n, point_.k, a_.as<float>(), b_.as<float>(), out_.as<float>(), threads_);
    }
  }

  void lookup() { pooled_lookup(tables_, arena_.data(), input_.indices, input_.offsets, out_.as<float>(), threads_); }
  void update() {
    update_pooled(tables_, arena_.data(), state_.as<float>(), input_.indices, input_.offsets, gradients_.as<float>(),
                  point_.settings(), threads_);
  }

  static std::int64_t lines_of(const BenchMemory& memory) {
    return static_cast<std::int64_t>(memory.bytes()) / kStream;
  }
  void sink(std::uint64_t value) { sink_.fetch_xor(value, std::memory_order_relaxed); }

  void read(const BenchMemory& from, std::int64_t lines, int passes) {
    run_intervals(lines, threads_, [&](std::int64_t first, std::int64_t end) {
      for (int pass = 0; pass < passes; ++pass) sink(read_lines(from.data() + first * kStream, end - first));
    });
  }

  void copy(const BenchMemory& from, const BenchMemory& to) const {
    run_intervals(lines_of(from), threads_, [&](std::int64_t first, std::int64_t end) {
      std::memcpy(to.data() + first * kStream, from.data() + first * kStream,
                  static_cast<std::size_t>((end - first) * kStream));
    });
  }

  int threads_;
  DeviceFacts facts_;
  BenchPoint point_;
  BenchInput input_;
  TableBatch tables_;
  BenchMemory arena_, state_, out_, gradients_, a_, b_, swept_;
  std::atomic<std::uint64_t> sink_{0};
};

}  // namespace

std::unique_ptr<BenchDevice> make_cpu_bench_device(int threads) {
  const auto processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return std::make_unique<CpuBenchDevice>(threads > 0 ? threads : processors);
}

}  // namespace shardsim
