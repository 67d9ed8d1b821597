#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "program/timeline/timeline.h"
#include "validate/execute/devices/longest_operation.h"
#include "validate/execute/devices/rank_ops.h"
#include "validate/execute/meet/rendezvous.h"

namespace shardsim {

// One rank's streams of operations: a CPU rank with its threads, or a GPU with its CUDA streams. It was made for the
// Programs of a run, which must outlive it, and holds that rank's tables, ids and buffers. Connected when it is made.
class Machine {
 public:
  virtual ~Machine() = default;

  // Once, before all that follow but stop(), doing() and take_spans(): takes the memory, and exchanges the ids that a
  // pipeline has before its first iteration. Errors: as run().
  virtual void prepare() = 0;

  // Runs iterations [first, first + count) back to back: streams in order, `after` and `after_previous` kept, and
  // returns when the last operation has ended. Starts at `start` seconds of this host's CLOCK_MONOTONIC. Iterations
  // below first_kept leave no spans. Errors: Failure::run naming the operation; stop() makes it throw.
  virtual void run(int first, int count, int first_kept, double start) = 0;

  // Spans of iterations from first_kept on since the last call, complete operations only; times in us of this host's
  // CLOCK_MONOTONIC. Also after run() threw, and from any thread while run() hangs.
  virtual std::vector<Span> take_spans() = 0;

  // [rank] Bytes sent to each in the iterations from first_kept on, of all calls of run() that ended well, as the
  // medium counted them; empty where it does not count.
  virtual std::vector<std::int64_t> sent() const = 0;

  // From any thread: run() throws soon.
  virtual void stop() = 0;

  virtual std::string doing() const = 0;         // the operations under way, for messages; from any thread
  virtual Timeline::Measured facts() const = 0;  // device, versions, transport; neither hosts nor clocks
  // The most that the times of spans may be off this host's clock, in us.
  virtual double clock_residual_us() const { return 0; }
  // True when spans cost time: iterations without them are then measured, too.
  virtual bool observing_costs() const { return false; }
  virtual std::int64_t bytes() const = 0;  // of device memory that its operations hold; 0 before prepare()

  virtual RankOps& ops() = 0;  // what its operations do, and their data
};

struct MachineOptions {
  std::string transport;    // "" : the machine's own default
  int threads = 1;          // CPU: per compute operation
  bool priority = false;    // GPU: streams of collectives go before the others
  bool check_data = false;  // plain SGD with learning rate 1, and iterations that do not overlap
};

struct MachineEntry {
  std::string_view name;  // as --device has it
  std::string_view help;
  std::string_view transports;  // comma-separated, the default first
  std::unique_ptr<Machine> (*make)(const IterationPrograms& programs, Rendezvous& rendezvous,
                                   const MachineOptions& options);
  // Refuses what this machine does not execute of a Program that others do, before a rank starts. Null: nothing.
  void (*check)(const Program& program, const ProgramPlaces& places) = nullptr;
  // Returns the compute operation that takes longest, and its time. Null: none takes a time worth telling before.
  LongestOperation (*longest)(const Program& program, int threads) = nullptr;
};

std::span<const MachineEntry> machines();  // alphabetical; "cuda" only where it was built

// The makers of the machines in the table (cpu.cpp, cuda.cpp).
std::unique_ptr<Machine> make_cpu_machine(const IterationPrograms& programs, Rendezvous& rendezvous,
                                          const MachineOptions& options);
std::unique_ptr<Machine> make_cuda_machine(const IterationPrograms& programs, Rendezvous& rendezvous,
                                           const MachineOptions& options);

// Refuses a Program that the kernels of a GPU do not take (kernels/cuda_embedding.h), before a rank starts. Errors
// (Failure::input naming the lookup): rows of more than 12,288 columns, 2^31 or more lookups of one rank; pooled: more
// than 65,535 shards in one lookup, 2^32 or more bags of one rank.
void check_gpu_limits(const Program& program, const ProgramPlaces& places);

// Bytes that the rows of its tables alone take of a rank's GPU: it needs more, but never less.
std::int64_t least_gpu_bytes(const Program& program, int rank);

// Errors (Failure::infeasible, naming the rank): that is more than `free_bytes`.
void check_gpu_memory(const Program& program, int rank, std::int64_t free_bytes);

}  // namespace shardsim
