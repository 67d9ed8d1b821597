#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "validate/execute/devices/device_port.h"
#include "validate/microbench/bench_input.h"
#include "validate/microbench/bench_point.h"
#include "validate/microbench/drawn_ids.h"

namespace shardsim {

class CollectiveRows;
class Rendezvous;
struct ExecuteOptions;

struct DeviceFacts {
  std::string name;               // "NVIDIA A100-SXM4-40GB"; the CPU's model name
  std::string software;           // of the kernels, with versions: "shardsim CUDA kernels, CUDA 12.4, driver 550.54"
  int num_gpus = 1;               // 0: a CPU
  int threads = 0;                // CPU
  std::int64_t memory_bytes = 0;  // that points may use
  std::int64_t cache_bytes = 0;   // last level: L2 of a GPU, L3 of a CPU
  bool library_products = true;   // matrix products by a library that people use, not by a kernel that stands in
  // Further facts, for the file alone: compute_capability, sm_count, driver, cuda_runtime, sm_clock_MHz ...
  std::vector<std::pair<std::string, std::string>> more;
};

// The times of a lookup and of its update, us.
struct HalfTimes {
  double lookup_us = 0, update_us = 0;
};

// The device that the micro-benchmark times: one GPU, or the threads of one CPU process. It is told a point, and then
// runs it as often as asked. Everything is allocated and filled in prepare(); run_us() allocates nothing. Tables are
// filled with small values (|x| < 1), gradients too; what they are does not matter for the time.
class BenchDevice {
 public:
  virtual ~BenchDevice() = default;
  const DeviceFacts& facts() const { return facts_; }
  virtual bool can(const BenchPoint& point) const {
    return point.op < BenchOp::sort && !point.weighted;
  }  // other points are left out

  // True when copies of a point's memory keep calls apart (Rotation). A CPU's cores have caches of their own, whose
  // sizes and order of replacement nobody states: there the caches are flushed.
  virtual bool rotates() const { return false; }

  // Replaces the point before it and frees its memory first. `copies` of all that a call reads and writes: every call
  // uses the next one. Errors: Failure::run when they do not fit.
  void prepare(const BenchPoint& point, const BenchInput& input, int copies = 1);
  // The mean of `calls` calls of the prepared point, back to back: device time between two events, in us.
  double run_us(int calls = 1);
  double run_us(BenchOp half);  // of a prepared lookup_update: its lookup or its update alone

  // Lookups with their updates whose ids are drawn anew for every call, so that a call finds in the caches what an
  // iteration leaves there for the one after it, not its own rows.

  // Makes and fills memory once for all points that are prepared to be drawn and that need no more, and takes the laws:
  // filling takes longer than a call, as do allocations. `laws` stay where they are as long as points are drawn.
  virtual void keep(const DrawnNeed& most, const std::vector<PositionDraw>& laws);
  // Errors: Failure::run when it needs more than was kept.
  void prepare_drawn(const BenchPoint& point, const DrawnIds& ids);
  // Begins one call, the lookup and then the update, each with a flush before it unless warm. A GPU is still at it when
  // this returns.
  void begin_drawn(std::uint64_t salt, bool flushed);
  // Waits for the calls that were begun, and returns their times.
  virtual std::vector<HalfTimes> end_drawn() { return std::exchange(halves_, {}); }

  void flush();  // evicts the caches: touches at least 2 x cache_bytes, and waits until it is done

  // Limits of the device, each a few calls, the best of them; they replace the prepared point.
  double copy_bandwidth();             // bytes/s read plus written, buffers far above the cache
  double cache_bandwidth();            // bytes/s read, a buffer that the last-level cache holds
  double launch_floor_us();            // an empty kernel; CPU: an empty call of the threads
  double read_us(std::int64_t bytes);  // streaming read of so many bytes, uncached: the plain bound

 protected:
  struct Limits {
    std::int64_t copied;  // bytes of one copy
    int cache_passes;     // in one timing of a cache that is read: what starts it is slower
  };
  BenchDevice(DeviceFacts facts, Limits limits) : facts_(std::move(facts)), limits_(limits) {}

  // Each device supplies these. Memory comes zeroed; sizes of what is read and copied are whole cache lines.
  virtual DeviceMemory memory(std::int64_t bytes, const char* what) = 0;
  virtual void upload(void* to, const void* from, std::int64_t bytes) = 0;
  virtual void fill(ElementType type, std::int64_t elements, void* values) = 0;
  virtual void release() { copies_.assign(1, {}); }
  virtual void made_ready() {}  // the point is in memory
  // Returns the time of so many calls together, one after the other.
  virtual double timed_us(int calls, const std::function<void()>& call) = 0;
  virtual void do_nothing() = 0;
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  virtual void read(const void* from, std::int64_t bytes, int passes) = 0;
  virtual void sweep(const DeviceMemory& memory) = 0;
  virtual void lookup() = 0;
  virtual void update() = 0;
  virtual void gather() = 0;
  virtual void scatter() = 0;
  virtual void gemm() = 0;
  // One call's ids for the prepared point; here on the host. Then both halves, timed.
  virtual void draw(std::uint64_t salt);
  virtual void run_halves(bool flushed);
  virtual void laws_changed() {}                          // the ids of a point are others
  virtual void sort() {}                                  // of devices that can
  virtual void copy_to_device(std::int64_t /*bytes*/) {}  // likewise, between the point's `out` and memory of the host
  virtual void copy_to_host(std::int64_t /*bytes*/) {}

  // All that a call reads and writes.
  struct PointMemory {
    DeviceMemory arena, state, out, gradients, indices, offsets, weights, a, b;
  };
  const PointMemory& of() const { return copies_[current_]; }  // the call under way
  std::size_t current() const { return current_; }             // number of that copy
  std::size_t copies() const { return copies_.size(); }
  const DeviceMemory& swept();  // that a flush goes over

  BenchPoint point_;
  std::int64_t lookups_ = 0;
  DrawnNeed kept_for_;
  DrawnIds drawn_;                                   // of a point that is prepared to be drawn
  const std::vector<PositionDraw>* laws_ = nullptr;  // by the table's number
  std::vector<HalfTimes> halves_;

 private:
  using Member = DeviceMemory PointMemory::*;

  void call(BenchOp op);
  void next_copy() { current_ = (current_ + 1) % copies_.size(); }
  double best_us(const std::function<double()>& once) const;
  DeviceMemory numbers(std::int64_t count, ElementType type = ElementType::fp32);
  void deal(Member member, const DeviceMemory& all, std::int64_t bytes);
  void give_zeros(Member member, std::int64_t bytes, const char* what);
  void give_numbers(Member member, std::int64_t count, ElementType type = ElementType::fp32);
  void give_values(Member member, const std::vector<std::int64_t>& values, const char* what);
  void repeat(Member member);

  DeviceFacts facts_;
  Limits limits_;
  std::vector<PointMemory> copies_ = std::vector<PointMemory>(1);
  std::size_t current_ = 0;
  DeviceMemory swept_;
  PointMemory kept_;  // for points whose ids are drawn
};

struct BenchDeviceEntry {
  std::string_view name;  // as --device has it
  std::string_view help;
  std::unique_ptr<BenchDevice> (*make)(int threads);
  // bench_collectives of microbench.h by the device's own means; null: iterations of a Program are timed.
  std::string (*collectives)(Rendezvous& rendezvous, const ExecuteOptions& options,
                             const std::vector<std::int64_t>& sizes, CollectiveRows& rows) = nullptr;
  // Each of them once, without timing, for what the log of its library says; null: there is no such log.
  void (*collectives_once)(Rendezvous& rendezvous, const ExecuteOptions& options,
                           const std::vector<std::int64_t>& sizes) = nullptr;
};

std::span<const BenchDeviceEntry> bench_devices();  // alphabetical; "cuda" only where it was built

// The makers of the devices in the table. threads: of the CPU, 0 for one per processor.
std::unique_ptr<BenchDevice> make_cpu_bench_device(int threads);
// One thread of the CPU whose times are processor time: what others do while it waits for its turn does not count.
std::unique_ptr<BenchDevice> make_cpu_bench_device_by_processor_time();
std::unique_ptr<BenchDevice> make_cuda_bench_device(int threads);
// As nccl-tests do: `options.iterations` calls back to back between two events, after `options.warmup` others, out of
// place and in place; the mean over the ranks. Returns comments to stand above the rows: the state of the machines.
// Errors: Failure::run where a rank, a GPU or NCCL fails; those of CollectiveRows.
std::string bench_cuda_collectives(Rendezvous& rendezvous, const ExecuteOptions& options,
                                   const std::vector<std::int64_t>& sizes, CollectiveRows& rows);
// Every call of these once, out of place. Errors: Failure::run, the same.
void call_cuda_collectives(Rendezvous& rendezvous, const ExecuteOptions& options,
                           const std::vector<std::int64_t>& sizes);

}  // namespace shardsim
