#include <cuda_runtime.h>
#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <thread>

#include "base/error.h"
#include "validate/execute/devices/cuda_seat.h"
#include "validate/execute/devices/cuda_stream_queue.h"
#include "validate/execute/devices/machine.h"
#include "validate/execute/devices/machine_facts.h"
#include "validate/execute/devices/nccl_set.h"
#include "validate/execute/kernels/cuda_work.h"
#include "validate/execute/meet/clock.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif

namespace shardsim {
namespace {

// Operations launched ahead of the GPU: far below what a stream's queue holds, so that a launch never blocks this
// thread while a peer is gone, and enough to hide the launches.
constexpr int kAhead = 64;
constexpr double kSilence = 30;  // seconds without the end of any operation before the run counts as stuck
constexpr double kPatience = 1;  // seconds that a hanging call gets before its communicators are taken away

// Names what is launched while it lives, for Nsight; nothing where NVTX was not there at build time.
class NvtxRange {
 public:
#ifdef NVTX_VERSION
  explicit NvtxRange(const char* name) {
    nvtxRangePushA(name);
  }
  ~NvtxRange() {
    nvtxRangePop();
  }
#else
  explicit NvtxRange(const char*) {}
#endif
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
};

// Refuses what has no kernels for GPUs yet: codecs, means over sharding groups, and lookups that a
// pipeline makes ahead.
const Program& for_gpus(const Program& program) {
  const auto found = std::ranges::find_if(program.ops, [](const Op& op) {
    const bool looks_ahead = op.role == OpRole::lookup && op.batches_ahead > 0;
    return looks_ahead || op.role == OpRole::encode_output || op.role == OpRole::encode_gradient ||
           op.role == OpRole::average_replicas;
  });
  if (found == program.ops.end()) return program;
  throw input_error(
      {program.scenario}, "operation '" + found->name + "' is executed on CPU ranks and not on GPUs",
      "Use --device cpu, or lower the case again without 'sharding_groups', wire_dtype.kernels and semi_sync");
}

// One rank as streams of one GPU. Launches come from the thread that calls run(); a second one watches NCCL. After a
// failure the kernels that wait for a lost peer spin on until this machine goes: what was measured is saved first.
class CudaMachine : public Machine {
 public:
  CudaMachine(const IterationPrograms& programs, Rendezvous& rendezvous, const MachineOptions& options)
      : programs_(programs),
        program_(for_gpus(programs.first())),
        rank_(rendezvous.rank()),
        check_data_(options.check_data),
        device_(seated_device(program_.ranks_per_node, rendezvous)),
        facts_(gpu_facts(device_)),
        free_before_(free_memory()),
        queue_(program_, kAhead, options.priority),
        nccl_(programs, rendezvous),
        gpu_(make_cuda_device(queue_, nccl_)) {
    watch_ = std::jthread([this](const std::stop_token& ending) { watch(ending); });
  }

  ~CudaMachine() override {
    watch_ = std::jthread();
    nccl_.abort();  // kernels that wait for a peer end, so that memory can be freed
    cudaDeviceSynchronize();
  }

  void prepare() override {
    check_gpu_memory(program_, rank_, free_before_);
    run_guarded([this] {
      ops_ = std::make_unique<RankOps>(programs_, rank_, check_data_, *gpu_);
      cuda::check(cudaDeviceSynchronize(), "preparing");
      exchange_first_ids();
      note_memory();
    });
  }

  void run(int first, int count, int first_kept, double start) override {
    cuda::check(cudaSetDevice(device_), "choosing the GPU");
    queue_.begin();
    run_guarded([&] {
      sleep_until(start);
      for (int iteration = first; iteration < first + count; ++iteration) {
        for (const Op& op : program_.ops) launch(op, iteration, iteration >= first_kept);
      }
      wait_until_under_way(0);
    });
  }

  std::vector<Span> take_spans() override {
    std::vector<Span> spans = queue_.take_spans();
    for (Span& span : spans) span.rank = rank_;
    return spans;
  }

  std::vector<std::int64_t> sent() const override { return {}; }  // NCCL does not say

  void stop() override { stopped_ = true; }

  std::string doing() const override { return queue_.names(); }

  Timeline::Measured facts() const override { return facts_; }
  bool observing_costs() const override { return true; }
  double clock_residual_us() const override { return queue_.clock_residual_us(); }

  std::int64_t bytes() const override { return ops_ ? ops_->bytes() : 0; }
  RankOps& ops() override { return *ops_; }

 private:
  // Notes the memory that the arithmetic of bytes() leaves out: NCCL, cuBLASLt, and what CUDA rounds up.
  void note_memory() {
    constexpr double kMiB = 1 << 20;
    Facts more = gpu_state(pci_address(device_));
    more.merge(host_facts());
    more["GPU memory taken, MiB"] = fmt::format("{:.0f}", static_cast<double>(free_before_ - free_memory()) / kMiB);
    more["GPU memory of operations, MiB"] = fmt::format("{:.0f}", static_cast<double>(ops_->bytes()) / kMiB);
    more["dense layers"] = cuda::Gemm::name();
    facts_.more = facts_text(more);
  }

  void exchange_first_ids() {
    for (const RankOps::Early& early : ops_->early()) {
      const Op& op = program_.op(early.op);
      queue_.open(op, 0, false);
      ops_->run(op, early.iteration);
      queue_.close(op);
    }
    wait_until_under_way(0);
  }

  void launch(const Op& op, int iteration, bool kept) {
    if (!ops_->has(op.id)) return;
    wait_until_under_way(kAhead);
    const NvtxRange range(op.name.c_str());
    queue_.open(op, iteration, kept);
    ops_->run(op, iteration);
    queue_.close(op);
    if (op.role == OpRole::wait_for_splits) wait_for_host_op(op);
  }

  // The host reads what the GPU copied to it before it launches anything else.
  void wait_for_host_op(const Op& op) {
    const double deadline = monotonic_seconds() + kSilence;
    while (queue_.under_way() > 0 && !queue_.idle(op.stream)) {
      throw_if_failed();
      if (monotonic_seconds() > deadline) throw run_error("no operation has ended for 30 s", "");
      sleep_until(monotonic_seconds() + 2e-6);
    }
  }

  // Until at most so many operations are under way. Errors: when the run was stopped, NCCL failed, or nothing ends.
  void wait_until_under_way(int most) {
    long ended = queue_.ended();
    double deadline = monotonic_seconds() + kSilence;
    while (queue_.under_way() > most) {
      throw_if_failed();
      if (queue_.ended() > ended) {
        ended = queue_.ended();
        deadline = monotonic_seconds() + kSilence;
      }
      if (monotonic_seconds() > deadline) throw run_error("no operation has ended for 30 s", "");
      sleep_until(monotonic_seconds() + 20e-6);
    }
    throw_if_failed();
  }

  // A fault that broke the GPU breaks NCCL, too, which may be first to say so: then the GPU's own word counts.
  void throw_if_failed() {
    if (stopped_) throw run_error("stopped", "");
    if (!nccl_failed_) return;
    const cudaError_t state = cudaStreamQuery(queue_.stream(0));
    if (state != cudaErrorNotReady) cuda::check(state, "on the GPU");
    throw run_error(nccl_fault_, "Run again with NCCL_DEBUG=WARN in the environment to see why");
  }

  // Errors leave with the rank and what was under way. The GPU's errors after the first of them do not matter.
  template <typename Body>
  void run_guarded(const Body& body) {
    launching_ = true;
    try {
      body();
      launching_ = false;
    } catch (const Error& error) {
      const std::string under_way = queue_.names();
      stopped_ = true;
      queue_.forget_under_way();
      launching_ = false;
      if (error.failure() == Failure::input) throw;
      throw run_error(
          "rank " + std::to_string(rank_) + (under_way.empty() ? "" : ", during " + under_way) + ": " + error.what(),
          "");
    }
  }

  // Notices what NCCL notices. When the run has failed and the thread that launches hangs in a call, takes the
  // communicators away, which ends the call.
  void watch(const std::stop_token& ending) {
    cudaSetDevice(device_);
    while (!ending.stop_requested() && !stopped_ && !nccl_failed_) {
      const std::string fault = nccl_.fault();
      if (!fault.empty()) {
        nccl_fault_ = fault;
        nccl_failed_ = true;
      }
      sleep_until(monotonic_seconds() + 0.02);
    }
    const double deadline = monotonic_seconds() + kPatience;
    while (!ending.stop_requested() && monotonic_seconds() < deadline) sleep_until(monotonic_seconds() + 0.02);
    if (!ending.stop_requested() && launching_) nccl_.abort();
  }

  IterationPrograms programs_;
  const Program& program_;  // the first; all have the same operations
  int rank_ = 0;
  bool check_data_ = false;
  int device_ = 0;
  Timeline::Measured facts_;
  std::int64_t free_before_ = 0;  // bytes of GPU memory
  CudaStreamQueue queue_;
  NcclSet nccl_;
  std::unique_ptr<DevicePort> gpu_;
  std::unique_ptr<RankOps> ops_;
  std::atomic<bool> stopped_ = false, nccl_failed_ = false;
  std::atomic<bool> launching_ = false;  // a thread is inside prepare() or run()
  std::string nccl_fault_;               // written before nccl_failed_
  std::jthread watch_;
};

}  // namespace

std::unique_ptr<Machine> make_cuda_machine(const IterationPrograms& programs, Rendezvous& rendezvous,
                                           const MachineOptions& options) {
  if (programs.size() > 1 && !programs.first().fusions.empty())
    throw input_error({programs.first().scenario}, "a GPU executes lookups of the same sizes in every iteration",
                      "Execute drawn batches with --device cpu");
  cuda::load_kernels_early();
  return std::make_unique<CudaMachine>(programs, rendezvous, options);
}

}  // namespace shardsim
