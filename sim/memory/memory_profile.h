#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "program/program.h"
#include "program/timeline/timeline.h"

namespace shardsim {

// The parts of device memory (docs/lowering.md, "What device memory holds"). The first four stay for the whole run.
enum class MemoryPart {
  tables,           // rows of embedding tables, of a cached table its cache
  optimizer,        // state of these rows
  cache,            // bookkeeping of caches
  dense,            // parameters of the dense part, and their optimizer state
  inputs,           // ids, lengths and weights of the batch that is trained
  inputs_ahead,     // the same of batches that a pipeline prepares
  lookup_output,    // vectors that this rank looked up, for all whom it serves
  output,           // vectors of the own batch, as received and in order
  gradients,        // of these vectors: of the own batch, and as the owners receive them
  table_gradients,  // dense gradients of replicated tables and of the kernel dense
  dense_gradients,  // of the dense part
  activations       // that autograd keeps of the dense part
};

inline constexpr std::size_t kMemoryParts = 12;
inline constexpr std::size_t kResidentParts = 4;

// As in result files.
inline constexpr std::array<std::string_view, kMemoryParts> kMemoryPartNames = {
    "tables",        "optimizer", "cache",     "dense",           "inputs",          "inputs_ahead",
    "lookup_output", "output",    "gradients", "table_gradients", "dense_gradients", "activations"};

// Bytes of each part.
struct MemoryAmounts {
  std::array<std::int64_t, kMemoryParts> bytes{};
  std::int64_t& operator[](MemoryPart part) { return bytes[static_cast<std::size_t>(part)]; }
  std::int64_t operator[](MemoryPart part) const { return bytes[static_cast<std::size_t>(part)]; }
  std::int64_t total() const { return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}); }
  bool operator==(const MemoryAmounts&) const = default;
};

// The most that a rank's device memory holds at any instant of the steady iteration.
struct MemoryPeak {
  MemoryAmounts amounts;  // at that instant
  double at_us = 0;       // since the steady iteration's window began; the first such instant
  int op = -1;            // whose start made it so; -1: nothing comes on top of what stays
  std::int64_t bytes() const { return amounts.total(); }
  bool operator==(const MemoryPeak&) const = default;
};

// The simulated high-water mark of every rank: what stays, and the buffers of the Program (sim/memory/buffers.h) while
// the Timeline has them alive. Iterations repeat each other, so that a buffer of an earlier iteration that is still
// read lies beside those of this one, as the batches of a pipeline do.
struct MemoryProfile {
  std::vector<MemoryPeak> ranks;
  std::size_t fullest() const;  // rank of the highest mark, the first of equals; `ranks` is not empty
  const MemoryPeak& highest() const { return ranks[fullest()]; }
  bool operator==(const MemoryProfile&) const = default;
};

// `timeline` is a simulated iteration of `program`, which was lowered from `plan` and `workload`.
MemoryProfile memory_profile(const Program& program, const Timeline& timeline, const Plan& plan,
                             const Workload& workload);

struct Buffer;
// The same with the buffers of another Program of the same operations: that of a drawn batch.
MemoryProfile memory_profile(const Program& program, const std::vector<Buffer>& buffers, const Timeline& timeline,
                             const Plan& plan, const Workload& workload);

// Returns the bytes that stay in each rank's device memory between operations, by rank: rows and their optimizer states
// (fp32, beside the rows; none of a table in host memory), caches of the share f of the rows that their load factor is,
// with (4 + 16 f) bytes of bookkeeping per row, dense parameters with their state.
std::vector<MemoryAmounts> resident_memory(const Plan& plan, const Workload& workload, int world_size);

// Memory that a GPU needs beside its simulated peak, and that no operation of an iteration shows (docs/lowering.md,
// "What comes on top of the peak").
struct MemoryAllowance {
  std::int64_t fragments = 0;  // of the allocator, between buffers that come and go
  std::int64_t start_up = 0;   // by which initialisation and the optimizer's first step are above the peak
  std::int64_t bytes() const { return fragments + start_up; }
  bool operator==(const MemoryAllowance&) const = default;
};

MemoryAllowance memory_allowance(const MemoryPeak& peak, const Workload& workload);

}  // namespace shardsim
