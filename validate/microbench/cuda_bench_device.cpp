#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "base/error.h"
#include "validate/execute/devices/cuda_seat.h"
#include "validate/execute/kernels/cuda_draw.h"
#include "validate/execute/kernels/cuda_embedding.h"
#include "validate/execute/kernels/cuda_work.h"
#include "validate/microbench/bench_device.h"

namespace shardsim {
namespace {

using cuda::DeviceBuffer;

constexpr std::int64_t kHeadStart = 100'000;  // ns that the GPU is kept busy while the host launches what is timed
constexpr std::int64_t kCallStart = 50'000;   // and for every further call: an update is a dozen launches
constexpr std::int64_t kCopied = std::int64_t{1} << 30;
constexpr double kUsable = 0.8;  // of the free memory: sorting takes some beside what a point says

// The time between two events of a stream.
class EventPair {
 public:
  EventPair() {
    cuda::check(cudaEventCreate(&begin_), "an event");
    cuda::check(cudaEventCreate(&end_), "an event");
  }
  ~EventPair() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  EventPair(const EventPair&) = delete;
  EventPair& operator=(const EventPair&) = delete;

  void begin(cuda::Stream stream) const { cuda::check(cudaEventRecord(begin_, stream), "timing"); }
  void end(cuda::Stream stream) const { cuda::check(cudaEventRecord(end_, stream), "timing"); }
  double us() const {
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, begin_, end_), "timing");
    return static_cast<double>(milliseconds) * 1e3;
  }

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

// A stream, and the time of what is launched on it.
class Stopwatch {
 public:
  Stopwatch() { cuda::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"); }
  ~Stopwatch() { cudaStreamDestroy(stream_); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  cuda::Stream stream() const { return stream_; }
  void wait() const { cuda::check(cudaStreamSynchronize(stream_), "waiting for the GPU"); }

  // Device time of what so many calls launch; the launches themselves are hidden behind a head start.
  double us(int calls, const std::function<void()>& call) {
    cuda::pass(kHeadStart + (calls - 1) * kCallStart, stream_);
    span_.begin(stream_);
    for (int i = 0; i < calls; ++i) call();
    span_.end(stream_);
    wait();
    return span_.us();
  }

 private:
  cudaStream_t stream_ = nullptr;
  EventPair span_;
};

DeviceFacts read_facts() {
  cuda::load_kernels_early();
  int runtime = 0;
  cuda::device_count();
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
  facts.library_products = cuda::Gemm::by_library();
  facts.more = {{"compute_capability", std::to_string(properties.major) + "." + std::to_string(properties.minor)},
                {"sm_count", std::to_string(properties.multiProcessorCount)},
                {"memory_total_bytes", std::to_string(total)},
                {"driver", cuda::driver_version()},
                {"cuda_runtime", cuda::version_text(runtime)},
                {"gemm", cuda::Gemm::name()},
                {"launch_hidden", "yes"},
                {"pci_address", pci_address(0)}};
  return facts;
}

struct HalfSpans {
  EventPair lookup, update;
};

// Laws by which rows are drawn, in device memory.
class DeviceLaws {
 public:
  explicit DeviceLaws(const std::vector<PositionDraw>& laws) {
    std::vector<Stretch> stretches;
    std::vector<std::uint32_t> guides;
    for (const PositionDraw& law : laws) {
      laws_.push_back({stretches.size(), law.mass()});
      stretches.insert(stretches.end(), law.stretches().begin(), law.stretches().end());
      guides.insert(guides.end(), law.guides().begin(), law.guides().end());
    }
    stretches_ = DeviceBuffer(stretches.size() * sizeof(Stretch), "the laws of tables");
    stretches_.upload(stretches.data(), stretches_.bytes());
    guides_ = DeviceBuffer(guides.size() * sizeof(std::uint32_t), "the laws of tables");
    guides_.upload(guides.data(), guides_.bytes());
  }

  IdLaw of(int law) const {
    const auto at = static_cast<std::size_t>(law);
    const auto& [first, mass] = laws_.at(at);
    return {stretches_.as<Stretch>() + first, guides_.as<std::uint32_t>() + at * (IdLaw::kGuides + 1), mass};
  }

 private:
  struct Law {
    std::size_t first_stretch;
    double mass;
  };
  std::vector<Law> laws_;
  DeviceBuffer stretches_, guides_;
};

class CudaBenchDevice final : public BenchDevice {
 public:
  CudaBenchDevice() : CudaBenchDevice(read_facts()) {}

  void keep(const DrawnNeed& most, const std::vector<PositionDraw>& laws) override {
    BenchDevice::keep(most, laws);
    device_laws_.emplace(laws);
    workspaces_.clear();
    workspaces_.emplace_back(most.lookups, most.dim, most.tables);
  }
  std::vector<HalfTimes> end_drawn() override {
    stopwatch_.wait();
    std::vector<HalfTimes> times;
    for (std::size_t i = 0; i < begun_; ++i) times.push_back({spans_[i].lookup.us(), spans_[i].update.us()});
    begun_ = 0;
    return times;
  }

  // A product in another precision than fp32 is one of cuBLASLt alone.
  bool can(const BenchPoint& point) const override {
    return point.op != BenchOp::gemm || point.precision == Precision::fp32 || facts().library_products;
  }
  bool rotates() const override { return true; }

 private:
  // The first of the passes over a cache fills it.
  explicit CudaBenchDevice(const DeviceFacts& facts)
      : BenchDevice(facts, {std::min(kCopied, facts.memory_bytes / 8 / kCacheLine * kCacheLine), 64}) {}

  DeviceMemory memory(std::int64_t bytes, const char* what) override {
    const auto buffer = std::make_shared<DeviceBuffer>(static_cast<std::size_t>(bytes), what);
    buffer->clear();
    return {std::shared_ptr<void>(buffer, buffer->data()), bytes};
  }
  void upload(void* to, const void* from, std::int64_t bytes) override {
    cuda::check(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice), "copying to the GPU");
  }
  void fill(ElementType type, std::int64_t elements, void* values) override {
    if (elements > 0) cuda::fill(type, elements, 3, values, nullptr);
    cuda::check(cudaDeviceSynchronize(), "filling of memory");
  }

  void release() override {
    BenchDevice::release();
    tables_.reset();
    if (kept_for_.lookups == 0) workspaces_.clear();
    host_.reset();
  }
  void made_ready() override {
    if (point_.has_tables()) tables_.emplace(point_.table_batch());
    if (point_.has_update()) make_workspaces(lookups_, tables_->largest_dim(), tables_->tables());
    if (point_.op == BenchOp::gemm) {
      if (!gemm_) gemm_.emplace();
      gemm_->prepare(point_.precision, point_.m, point_.n, point_.k);
    }
    if (point_.op == BenchOp::sort) make_workspaces(point_.m, 1, 1);
    if (point_.op > BenchOp::copy) host_.emplace(static_cast<std::size_t>(point_.m), "a copy");
    cuda::check(cudaDeviceSynchronize(), "preparing a point");
  }

  double timed_us(int calls, const std::function<void()>& call) override { return stopwatch_.us(calls, call); }
  void do_nothing() override { cuda::do_nothing(stream()); }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    cuda::check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream()),
                "a copy");
  }
  void read(const void* from, std::int64_t bytes, int passes) override {
    cuda::read(from, bytes, passes, sink_.as<std::uint32_t>(), stream());
  }
  // Writes would leave a cache full of lines that the next call has to write back; reads after them do not.
  void sweep(const DeviceMemory& swept) override {
    begin_sweep(swept);
    stopwatch_.wait();
  }
  void begin_sweep(const DeviceMemory& swept) {
    cuda::check(cudaMemsetAsync(swept.as<void>(), 1, static_cast<std::size_t>(swept.bytes()), stream()),
                "flushing the cache");
    cuda::read(swept.as<void>(), swept.bytes() / 16 * 16, 1, sink_.as<std::uint32_t>(), stream());
  }

  void laws_changed() override {
    std::vector<cuda::DrawnTable> tables;
    for (const DrawnIds::Table& table : drawn_.tables)
      tables.push_back(
          {device_laws_->of(table.law), table.rows, table.key, table.name, table.first, table.average_length});
    drawn_tables_ = DeviceBuffer(tables.size() * sizeof(cuda::DrawnTable), "the laws of tables");
    drawn_tables_.upload(tables.data(), drawn_tables_.bytes());
    cuda::begin_bags(drawn_tables_.as<cuda::DrawnTable>(), drawn_count(), drawn_.bags, lookups_,
                     of().offsets.as<std::int64_t>(), stream());
  }
  void draw(std::uint64_t salt) override {
    cuda::draw_ids(drawn_tables_.as<cuda::DrawnTable>(), drawn_count(), lookups_, salt, of().indices.as<std::int64_t>(),
                   stream());
  }
  // Nothing waits for the GPU: it gets the next call while it does this one, and is flushing while it gets what is
  // timed.
  void run_halves(bool flushed) override {
    if (begun_ == spans_.size()) spans_.emplace_back();
    HalfSpans& spans = spans_[begun_++];
    begin_half(flushed, spans.lookup, [&] { lookup(); });
    begin_half(flushed, spans.update, [&] { update(); });
  }
  void begin_half(bool flushed, const EventPair& span, const std::function<void()>& half) {
    if (flushed) begin_sweep(swept());
    if (!flushed) cuda::pass(kHeadStart, stream());
    span.begin(stream());
    half();
    span.end(stream());
  }
  int drawn_count() const { return static_cast<int>(drawn_.tables.size()); }

  void lookup() override {
    cuda::pooled_lookup(*tables_, of().arena.as<void>(), indices(), of().offsets.as<std::int64_t>(),
                        of().out.as<float>(), stream(), of().weights.as<float>());
  }
  void update() override {
    cuda::update_pooled(*tables_, of().arena.as<void>(), of().state.as<float>(), indices(), lookups_,
                        of().offsets.as<std::int64_t>(), of().gradients.as<float>(), point_.settings(), workspace(),
                        stream());
  }
  void gather() override {
    cuda::gather_rows(point_.tables[0].dim * element_bytes(point_.type), of().arena.as<void>(), indices(), lookups_,
                      of().out.as<void>(), stream());
  }
  void scatter() override {
    cuda::update_rows(point_.type, point_.tables[0].rows, point_.tables[0].dim, of().arena.as<void>(),
                      of().state.as<float>(), indices(), lookups_, of().gradients.as<float>(), point_.settings(),
                      workspace(), stream());
  }
  void gemm() override {
    gemm_->multiply(point_.precision, point_.m, point_.n, point_.k, of().a.as<void>(), of().b.as<void>(),
                    of().out.as<void>(), stream());
  }

  void sort() override {
    cuda::sort_pairs(of().indices.as<std::uint64_t>(), workspace().numbers, point_.m,
                     static_cast<int>(std::bit_width(static_cast<std::uint64_t>(point_.k) - 1)), workspace(), stream());
  }
  void copy_to_device(std::int64_t bytes) override {
    cuda::check(cudaMemcpyAsync(of().out.as<void>(), host_->data(), static_cast<std::size_t>(bytes),
                                cudaMemcpyHostToDevice, stream()),
                "a copy from the host");
  }
  void copy_to_host(std::int64_t bytes) override {
    cuda::check(cudaMemcpyAsync(host_->data(), of().out.as<void>(), static_cast<std::size_t>(bytes),
                                cudaMemcpyDeviceToHost, stream()),
                "a copy to the host");
  }

  // The memory that a call writes between its kernels is its copy's own, too.
  void make_workspaces(std::int64_t lookups, std::int64_t dim, int tables) {
    if (kept_for_.lookups > 0) return;  // the one of keep() is large enough
    workspaces_.reserve(copies());
    while (workspaces_.size() < copies()) workspaces_.emplace_back(lookups, dim, tables);
  }
  const cuda::UpdateWorkspace& workspace() const { return workspaces_[current()]; }
  cuda::Stream stream() const { return stopwatch_.stream(); }
  const std::int64_t* indices() const { return of().indices.as<std::int64_t>(); }

  Stopwatch stopwatch_;
  DeviceBuffer sink_{16, "a sum"};
  std::optional<cuda::DeviceTables> tables_;
  std::vector<cuda::UpdateWorkspace> workspaces_;  // [copy]
  std::optional<DeviceLaws> device_laws_;
  DeviceBuffer drawn_tables_;
  std::deque<HalfSpans> spans_;  // of calls whose ids are drawn; the first `begun_` are under way
  std::size_t begun_ = 0;
  std::optional<cuda::Gemm> gemm_;
  std::optional<cuda::HostBuffer> host_;  // page-locked
};

}  // namespace

std::unique_ptr<BenchDevice> make_cuda_bench_device(int) {
  return std::make_unique<CudaBenchDevice>();
}

}  // namespace shardsim
