#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "validate/execute/devices/cuda_seat.h"
#include "validate/execute/devices/machine_facts.h"
#include "validate/execute/devices/nccl_set.h"
#include "validate/execute/meet/clock.h"
#include "validate/execute/meet/layout.h"
#include "validate/execute/run/execute.h"
#include "validate/execute/run/watchdog.h"
#include "validate/microbench/collective_rows.h"
#include "validate/microbench/microbench.h"

namespace shardsim {
namespace {

using cuda::DeviceBuffer;

constexpr double kStuck = 30;  // seconds for the calls of one row, beyond which NCCL counts as stuck

// Every collective of the sweep as an operation of one Program, so that they share a communicator.
Program sweep_program(const Launch& launch, const std::vector<std::int64_t>& sizes) {
  Program all;
  for (const OpClass kind : {OpClass::all_reduce, OpClass::all_to_all}) {
    for (const std::int64_t bytes : sizes) {
      Program one = collective_program(launch, kind, bytes);
      Op op = one.ops.front();
      op.id = static_cast<int>(all.ops.size());
      if (all.ops.empty()) {
        const std::vector<Program::Matrix> matrices = std::move(one.matrices);
        one.ops.clear();
        one.matrices.clear();
        all = std::move(one);
        all.matrices = matrices;
      } else {
        all.matrices.insert(all.matrices.end(), one.matrices.begin(), one.matrices.end());
      }
      if (!op.matrix.empty()) op.matrix.index = static_cast<int>(all.matrices.size()) - 1;
      all.ops.push_back(op);
    }
  }
  return all;
}

// One rank's end of the sweep.
class NcclSweep {
 public:
  NcclSweep(const Program& program, Rendezvous& rendezvous, std::int64_t largest)
      : rendezvous_(rendezvous),
        device_(seated_device(program.ranks_per_node, rendezvous)),
        nccl_(program, rendezvous),
        in_(static_cast<std::size_t>(largest), "what is sent"),
        out_(static_cast<std::size_t>(largest), "what is received") {
    cuda::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
    for (cudaEvent_t* event : {&start_, &end_}) cuda::check(cudaEventCreate(event), "an event");
    in_.clear();
  }
  ~NcclSweep() {
    nccl_.abort();
    for (cudaEvent_t event : {start_, end_}) cudaEventDestroy(event);
    cudaStreamDestroy(stream_);
  }
  NcclSweep(const NcclSweep&) = delete;
  NcclSweep& operator=(const NcclSweep&) = delete;

  int device() const { return device_; }

  // Mean us of a call on this rank.
  double call_us(const Op& op, std::int64_t bytes, bool in_place, int warmup, int calls) {
    void* const to = in_place ? in_.data() : out_.data();
    const auto launch = [&](int times) {
      for (int i = 0; i < times; ++i) nccl_.collective(op, in_.data(), to, static_cast<std::size_t>(bytes), stream_);
    };
    launch(warmup);
    wait();
    rendezvous_.barrier("the calls of " + op.name);
    cuda::check(cudaEventRecord(start_, stream_), "timing");
    launch(calls);
    cuda::check(cudaEventRecord(end_, stream_), "timing");
    wait();
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, start_, end_), "timing");
    return static_cast<double>(milliseconds) * 1e3 / calls;
  }

 private:
  // Not for ever: a peer may be gone.
  void wait() {
    const double deadline = monotonic_seconds() + kStuck;
    while (true) {
      const cudaError_t state = cudaStreamQuery(stream_);
      if (state == cudaSuccess) return;
      if (state != cudaErrorNotReady) cuda::check(state, "collectives");
      cudaGetLastError();
      if (!rendezvous_.failure().empty()) throw run_error(rendezvous_.failure(), "");
      const std::string fault = nccl_.fault();
      if (!fault.empty()) throw run_error(fault, "Run again with NCCL_DEBUG=WARN in the environment to see why");
      if (monotonic_seconds() > deadline) throw run_error("no collective has ended for 30 s", "");
      sleep_until(monotonic_seconds() + 5e-6);
    }
  }

  Rendezvous& rendezvous_;
  int device_ = 0;
  NcclSet nccl_;
  DeviceBuffer in_, out_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr, end_ = nullptr;
};

// The mean over the ranks, as nccl-tests print it unless they are told otherwise.
double mean_over_ranks(Rendezvous& rendezvous, double own) {
  const std::vector<std::string> all = rendezvous.all_gather(shortest(own), "collecting times");
  double sum = 0;
  for (const std::string& each : all) sum += std::stod(each);
  return sum / static_cast<double>(all.size());
}

std::vector<std::string> hosts_of(Rendezvous& rendezvous) {
  const std::vector<std::string> all = rendezvous.all_gather(host_name(), "names of hosts");
  std::vector<std::string> hosts;
  for (std::size_t rank = 0; rank < all.size(); rank += static_cast<std::size_t>(rendezvous.launch().local_size)) {
    hosts.push_back(all[rank]);
  }
  return hosts;
}

// Returns the circumstances that the times depend on, as comments that readers pass over.
std::string comments(Rendezvous& rendezvous, int device, const ExecuteOptions& options) {
  const Timeline::Measured facts = gpu_facts(device);
  Facts more = gpu_state(pci_address(device));
  more.merge(host_facts());
  const std::string merged = merged_facts(rendezvous.all_gather(facts_text(more), "states of the GPUs"));
  std::string text = "# NCCL " + facts.nccl + ", CUDA " + facts.cuda + ", driver " + facts.driver + ": " +
                     std::to_string(options.iterations) + " calls between two events after " +
                     std::to_string(options.warmup) + " others; mean over the ranks\n";
  for (const auto& [name, value] : facts_of_text(merged)) text += "# " + name + ": " + value + "\n";
  return text;
}

// The device and the NCCL that the rows of one journal have in common on this rank.
std::string device_text(int device) {
  const Timeline::Measured facts = gpu_facts(device);
  return facts.device + " at " + pci_address(device) + ", NCCL " + facts.nccl;
}

void sweep(const Program& program, NcclSweep& nccl, Rendezvous& rendezvous, const ExecuteOptions& options,
           const std::vector<std::int64_t>& sizes, CollectiveRows& rows) {
  const CollectiveTable table{hosts_of(rendezvous), gpu_facts(nccl.device()).device, program.world_size,
                              program.ranks_per_node, true};
  for (const Op& op : program.ops) {
    const std::int64_t bytes = sizes[static_cast<std::size_t>(op.id) % sizes.size()];
    if (rows.has(op.op_class, bytes)) continue;
    std::array<double, 2> us{};
    for (const bool in_place : {false, true}) {
      us[in_place ? 1 : 0] =
          mean_over_ranks(rendezvous, nccl.call_us(op, bytes, in_place, options.warmup, options.iterations));
    }
    if (rendezvous.rank() != 0) continue;
    const std::string head = bytes == sizes.front() ? table_head(op.op_class, table) : "";
    rows.add(op.op_class, bytes, head + table_row(op.op_class, bytes, table, us[0], us[1]));
  }
}

// The others are told before communicators are taken away.
template <typename Calls>
void reported(Rendezvous& rendezvous, const std::vector<std::int64_t>& sizes, const Calls& calls) {
  const Program program = sweep_program(rendezvous.launch(), sizes);
  NcclSweep nccl(program, rendezvous, std::ranges::max(sizes));
  try {
    calls(program, nccl);
  } catch (const Error& error) {
    rendezvous.fail(error.what(), "timing collectives");
    throw;
  }
}

// Under a watchdog: what hangs in NCCL ends with the run.
template <typename Calls>
void guarded_sweep(Rendezvous& rendezvous, const ExecuteOptions& options, const std::vector<std::int64_t>& sizes,
                   const Calls& calls) {
  cuda::load_kernels_early();
  const auto watchdog = std::make_shared<Watchdog>([&] {
    if (options.give_up) options.give_up(rendezvous.failure());
  });
  rendezvous.on_failure([weak = std::weak_ptr<Watchdog>(watchdog)](const std::string&) {
    if (const auto dog = weak.lock()) dog->arm_first(kFailedRunHangs);
  });
  try {
    reported(rendezvous, sizes, calls);
    watchdog->stop();
  } catch (const Error& error) {
    rendezvous.fail(error.what(), "timing collectives");
    watchdog->stop();
    throw Error(error.failure(), {}, rendezvous.failure().empty() ? error.what() : rendezvous.failure(), "");
  }
}

}  // namespace

std::string bench_cuda_collectives(Rendezvous& rendezvous, const ExecuteOptions& options,
                                   const std::vector<std::int64_t>& sizes, CollectiveRows& rows) {
  std::string text;
  guarded_sweep(rendezvous, options, sizes, [&](const Program& program, NcclSweep& nccl) {
    rows.begin(rendezvous, device_text(nccl.device()));
    text = comments(rendezvous, nccl.device(), options);
    sweep(program, nccl, rendezvous, options, sizes, rows);
  });
  return text;
}

void call_cuda_collectives(Rendezvous& rendezvous, const ExecuteOptions& options,
                           const std::vector<std::int64_t>& sizes) {
  guarded_sweep(rendezvous, options, sizes, [&](const Program& program, NcclSweep& nccl) {
    for (const Op& op : program.ops)
      nccl.call_us(op, sizes[static_cast<std::size_t>(op.id) % sizes.size()], false, 0, 1);
  });
}

}  // namespace shardsim
