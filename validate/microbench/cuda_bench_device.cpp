#include <cuda_runtime_api.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/error.h"
#include "validate/execute/kernels/cuda_embedding.h"
#include "validate/execute/kernels/cuda_work.h"
#include "validate/microbench/bench_device.h"

namespace shardsim {
namespace {

using cuda::DeviceBuffer;

constexpr int kLimitRuns = 7;
constexpr std::int64_t kHeadStart = 100'000;  // ns that the GPU is kept busy while the host launches what is timed
constexpr std::size_t kCopied = std::size_t{1} << 30;
constexpr std::int64_t kMostStreamed = std::int64_t{1} << 30;
constexpr double kUsable = 0.8;  // of the free memory: sorting takes some beside what a point says

// Two events on one stream.
class Stopwatch {
 public:
  Stopwatch() {
    cuda::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
    cuda::check(cudaEventCreate(&start_), "an event");
    cuda::check(cudaEventCreate(&end_), "an event");
  }
  ~Stopwatch() {
    cudaEventDestroy(end_);
    cudaEventDestroy(start_);
    cudaStreamDestroy(stream_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  cuda::Stream stream() const { return stream_; }
  void wait() const { cuda::check(cudaStreamSynchronize(stream_), "waiting for the GPU"); }

  // Device time of what `body` launches; the launches themselves are hidden behind a head start.
  template <typename Body>
  double us(const Body& body) {
    cuda::pass(kHeadStart, stream_);
    cuda::check(cudaEventRecord(start_, stream_), "timing");
    body(stream_);
    cuda::check(cudaEventRecord(end_, stream_), "timing");
    wait();
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, start_, end_), "timing");
    return static_cast<double>(milliseconds) * 1e3;
  }

  template <typename Body>
  double best_us(const Body& body) {
    double best = 1e300;
    for (int run = 0; run < kLimitRuns; ++run) best = std::min(best, us(body));
    return best;
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr, end_ = nullptr;
};

DeviceFacts read_facts() {
  int count = 0, runtime = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
    throw run_error("no GPU that CUDA can use is here", "Look at nvidia-smi and CUDA_VISIBLE_DEVICES");
  cuda::check(cudaSetDevice(0), "choosing the GPU");
  cudaDeviceProp properties{};
  std::size_t free = 0, total = 0;
  cuda::check(cudaGetDeviceProperties(&properties, 0), "properties of the GPU");
  cuda::check(cudaMemGetInfo(&free, &total), "memory of the GPU");
  cuda::check(cudaRuntimeGetVersion(&runtime), "version of CUDA");
  DeviceFacts facts;
  facts.name = properties.name;
  facts.software = "shardsim CUDA kernels, CUDA " + cuda::version_text(runtime) + ", driver " + cuda::driver_version();
  facts.memory_bytes = static_cast<std::int64_t>(kUsable * static_cast<double>(free));
  facts.cache_bytes = properties.l2CacheSize;
  facts.more = {{"compute_capability", std::to_string(properties.major) + "." + std::to_string(properties.minor)},
                {"sm_count", std::to_string(properties.multiProcessorCount)},
                {"memory_total_bytes", std::to_string(total)},
                {"driver", cuda::driver_version()},
                {"cuda_runtime", cuda::version_text(runtime)},
                {"gemm", cuda::Gemm::name()},
                {"launch_hidden", "yes"}};
  return facts;
}

template <typename T>
DeviceBuffer on_device(const std::vector<T>& values, const char* what) {
  DeviceBuffer buffer(values.size() * sizeof(T), what);
  buffer.upload(values.data(), buffer.bytes());
  return buffer;
}

class CudaBenchDevice final : public BenchDevice {
 public:
  CudaBenchDevice() : facts_(read_facts()) {}

  DeviceFacts facts() const override { return facts_; }

  void prepare(const BenchPoint& point, const BenchInput& input) override {
    release();
    point_ = point;
    if (point.op == BenchOp::gemm) {
      prepare_gemm();
    } else {
      prepare_tables(input);
    }
    cuda::check(cudaDeviceSynchronize(), "preparing a point");
  }

  double run_us() override {
    return stopwatch_->us([this](cuda::Stream stream) { call(stream); });
  }

  void flush() override {
    if (swept_.bytes() == 0) swept_ = DeviceBuffer(static_cast<std::size_t>(2 * facts_.cache_bytes), "the flush");
    cuda::check(cudaMemsetAsync(swept_.data(), 1, swept_.bytes(), stopwatch_->stream()), "flushing the cache");
    stopwatch_->wait();
  }

  double copy_bandwidth() override {
    release();
    const DeviceBuffer from = filled(kCopied / 4), to(kCopied, "the target of a copy");
    const double us = stopwatch_->best_us([&](cuda::Stream stream) {
      cuda::check(cudaMemcpyAsync(to.data(), from.data(), kCopied, cudaMemcpyDeviceToDevice, stream), "a copy");
    });
    return 2 * static_cast<double>(kCopied) / us * 1e6;
  }

  double cache_bandwidth() override {
    release();
    constexpr int kPasses = 64;  // the first of them fills the cache
    const std::int64_t bytes = facts_.cache_bytes / 4 / 16 * 16;
    const DeviceBuffer buffer = filled(static_cast<std::size_t>(bytes / 4)), sink(16, "a sum");
    const double us = stopwatch_->best_us(
        [&](cuda::Stream stream) { cuda::read(buffer.data(), bytes, kPasses, sink.as<std::uint32_t>(), stream); });
    return kPasses * static_cast<double>(bytes) / us * 1e6;
  }

  double launch_floor_us() override {
    return stopwatch_->best_us([](cuda::Stream stream) { cuda::do_nothing(stream); });
  }

  double read_us(std::int64_t bytes) override {
    release();
    const std::int64_t part = std::max<std::int64_t>(std::min(bytes, kMostStreamed) / 16 * 16, 16);
    const auto passes = static_cast<int>((bytes + kMostStreamed - 1) / kMostStreamed);
    const DeviceBuffer buffer = filled(static_cast<std::size_t>(part / 4)), sink(16, "a sum");
    double best = 1e300;
    for (int run = 0; run < kLimitRuns; ++run) {
      flush();
      best = std::min(best, stopwatch_->us([&](cuda::Stream stream) {
        cuda::read(buffer.data(), part, passes, sink.as<std::uint32_t>(), stream);
      }));
    }
    return best * static_cast<double>(bytes) / (static_cast<double>(part) * passes);
  }

 private:
  void release() {
    for (DeviceBuffer* buffer : {&arena_, &state_, &out_, &gradients_, &indices_, &offsets_, &a_, &b_}) {
      *buffer = DeviceBuffer();
    }
    workspace_.reset();
    tables_.reset();
  }

  // `count` numbers of fp32 that are not all alike.
  DeviceBuffer filled(std::size_t count) const {
    DeviceBuffer buffer(count * sizeof(float), "numbers");
    cuda::fill(ElementType::fp32, static_cast<std::int64_t>(count), 3, buffer.data(), nullptr);
    cuda::check(cudaDeviceSynchronize(), "filling of memory");
    return buffer;
  }

  void prepare_gemm() {
    a_ = filled(static_cast<std::size_t>(point_.m * point_.k));
    b_ = filled(static_cast<std::size_t>(point_.k * point_.n));
    out_ = DeviceBuffer(static_cast<std::size_t>(4 * point_.m * point_.n), "a product");
    if (!gemm_) gemm_.emplace();
  }

  void prepare_tables(const BenchInput& input) {
    const TableBatch batch = point_.table_batch();
    tables_.emplace(batch);
    arena_ = DeviceBuffer(static_cast<std::size_t>(point_.table_bytes()), "tables");
    cuda::fill(point_.type, point_.table_bytes() / element_bytes(point_.type), 1, arena_.data(), nullptr);
    indices_ = on_device(input.indices, "indices");
    offsets_ = on_device(input.offsets, "offsets");
    lookups_ = static_cast<std::int64_t>(input.indices.size());
    out_ = DeviceBuffer(static_cast<std::size_t>(point_.output_bytes()), "rows or pooled rows");
    if (!point_.has_update()) return;
    state_ = DeviceBuffer(static_cast<std::size_t>(point_.state_bytes()), "optimizer states");
    state_.clear();
    gradients_ = filled(static_cast<std::size_t>(point_.gradients()));
    workspace_.emplace(lookups_, tables_->largest_dim());
  }

  void call(cuda::Stream stream) {
    switch (point_.op) {
      case BenchOp::lookup:
        return lookup(stream);
      case BenchOp::update:
        return update(stream);
      case BenchOp::lookup_update:
        lookup(stream);
        return update(stream);
      case BenchOp::gather:
        return cuda::gather_rows(point_.tables[0].dim * element_bytes(point_.type), arena_.data(),
                                 indices_.as<std::int64_t>(), lookups_, out_.data(), stream);
      case BenchOp::scatter:
        return cuda::update_rows(point_.type, point_.tables[0].rows, point_.tables[0].dim, arena_.data(),
                                 state_.as<float>(), indices_.as<std::int64_t>(), lookups_, gradients_.as<float>(),
                                 point_.settings(), *workspace_, stream);
      case BenchOp::gemm:
        return gemm_->multiply(point_.m, point_.n, point_.k, a_.as<float>(), b_.as<float>(), out_.as<float>(), stream);
    }
  }

  void lookup(cuda::Stream stream) {
    cuda::pooled_lookup(*tables_, arena_.data(), indices_.as<std::int64_t>(), offsets_.as<std::int64_t>(),
                        out_.as<float>(), stream);
  }
  void update(cuda::Stream stream) {
    cuda::update_pooled(*tables_, arena_.data(), state_.as<float>(), indices_.as<std::int64_t>(), lookups_,
                        offsets_.as<std::int64_t>(), gradients_.as<float>(), point_.settings(), *workspace_, stream);
  }

  DeviceFacts facts_;
  std::unique_ptr<Stopwatch> stopwatch_ = std::make_unique<Stopwatch>();
  BenchPoint point_;
  std::int64_t lookups_ = 0;
  std::optional<cuda::DeviceTables> tables_;
  std::optional<cuda::UpdateWorkspace> workspace_;
  std::optional<cuda::Gemm> gemm_;
  DeviceBuffer arena_, state_, out_, gradients_, indices_, offsets_, a_, b_, swept_;
};

}  // namespace

std::unique_ptr<BenchDevice> make_cuda_bench_device(int) {
  return std::make_unique<CudaBenchDevice>();
}

}  // namespace shardsim
