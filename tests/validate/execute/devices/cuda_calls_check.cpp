// Checks the calls of the machine and the micro-benchmark to CUDA that no result shows (cuda_on_cpu/README.md).
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/validate/execute/cuda_on_cpu/seen.h"
#include "tests/validate/execute/sample_programs.h"
#include "validate/execute/devices/cuda_stream_queue.h"
#include "validate/microbench/microbench.h"
#include "validate/microbench/shard_bench.h"

using namespace shardsim;
using on_cpu::seen;

namespace {

// A fault in words, or "".
using Fault = std::string;

Fault kernels_are_loaded_before_the_first_call() {
  unsetenv("CUDA_MODULE_LOADING");
  make_cuda_bench_device(0);
  return seen().module_loading == "EAGER" ? "" : "CUDA_MODULE_LOADING was " + seen().module_loading;
}

// The priorities of a program's streams, highest first for collectives where it is asked for.
Fault streams_have_priorities(bool collectives_first) {
  const Program program = sample::toy_program();
  seen().priorities.clear();
  const CudaStreamQueue queue(program, 8, collectives_first);
  int least = 0, most = 0, high = 0;
  cudaDeviceGetStreamPriorityRange(&least, &most);
  if (seen().priorities.size() != program.streams.size()) return "not every stream was made with a priority";
  for (std::size_t stream = 0; stream < program.streams.size(); ++stream) {
    const bool collective = std::ranges::any_of(
        program.ops, [&](const Op& op) { return op.is_collective() && op.stream == static_cast<int>(stream); });
    const bool first = collectives_first && collective;
    if (seen().priorities[stream] != (first ? most : least))
      return "stream " + program.streams[stream] + " has another";
    high += first ? 1 : 0;
  }
  return (high > 0) == collectives_first ? "" : "no stream has collectives";
}

// Hundreds of iterations launch more operations than there are events.
Fault events_serve_again() {
  const Program program = sample::toy_program();
  constexpr int kAhead = 16, kIterations = 300;
  CudaStreamQueue queue(program, kAhead);
  const int made = seen().events;
  queue.begin();
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    for (const Op& op : program.ops) {
      while (queue.under_way() >= kAhead) continue;
      queue.open(op, iteration, true);
      queue.close(op);
    }
  }
  while (queue.under_way() > 0) continue;
  const auto launched = static_cast<long>(kIterations * program.ops.size());
  if (queue.ended() != launched) return fmt::format("{} of {} operations ended", queue.ended(), launched);
  if (launched < 4L * static_cast<long>(queue.events_made())) return "too few operations to tell";
  if (seen().events != made) return fmt::format("{} events were made while it ran", seen().events - made);
  return queue.take_spans().size() == static_cast<std::size_t>(launched) ? "" : "spans are missing";
}

MicrobenchOptions few(int repetitions) {
  MicrobenchOptions options;
  options.warmup = 2;
  options.repetitions = repetitions;
  options.most_spread = HUGE_VAL;  // else what is unsteady here, as all is, is run twice
  return options;
}

BenchPoint copy_of(std::int64_t bytes) {
  BenchPoint point;
  point.op = BenchOp::copy;
  point.m = bytes;
  return point;
}

// Copies of a third of the cache touch two thirds of it: three others must lie between two uses of one. The first
// copies that are seen fill the memory.
Fault copies_take_turns() {
  const auto device = make_cuda_bench_device(0);
  const std::int64_t cache = device->facts().cache_bytes;
  seen().copied.clear();
  const MeasuredPoint measured = measure_point(*device, copy_of((cache / 3 / 64 + 1) * 64), few(5), {});
  std::vector<const void*> from = seen().copied;
  if (measured.rotation.state != CacheState::rotated || measured.rotation.copies != 4)
    return fmt::format("{} copies, {}", measured.rotation.copies, cache_state_name(measured.rotation.state));
  from.erase(from.begin(), from.begin() + 3);
  if (from.size() != static_cast<std::size_t>(2 + 5 * measured.calls)) return "another number of calls";
  for (std::size_t call = 0; call < from.size(); ++call) {
    const std::size_t since = std::min<std::size_t>(call, 3);
    for (std::size_t back = 1; back <= since; ++back)
      if (from[call] == from[call - back]) return fmt::format("call {} comes {} after its like", call, back);
    if (call >= 4 && from[call] != from[call - 4]) return "calls do not come round";
  }
  return "";
}

Fault warm_calls_do_not() {
  const auto device = make_cuda_bench_device(0);
  seen().copied.clear();
  BenchPoint point = copy_of(1 << 16);
  point.warm = true;
  const MeasuredPoint measured = measure_point(*device, point, few(5), {});
  if (measured.rotation.state != CacheState::warm) return "not said to be warm";
  return std::set<const void*>(seen().copied.begin(), seen().copied.end()).size() == 1 ? "" : "several copies";
}

// Every kind of point, so that what a call of any copy reads is there.
Fault every_kind_rotates() {
  const auto device = make_cuda_bench_device(0);
  std::vector<BenchPoint> points = grid_sweep("small", {});
  int rotated = 0;
  for (const BenchPoint& point : points) {
    if (!device->can(point)) continue;
    const MeasuredPoint measured = measure_point(*device, point, few(1), {});
    if (measured.samples_us.size() != 1) return "no time of " + std::string(bench_op_name(point.op));
    rotated += measured.rotation.state == CacheState::rotated ? 1 : 0;
  }
  return rotated > 0 ? "" : "none rotates";
}

// The sums and the gradients of shards of two tables, timed with ids that the device draws.
Fault shards_are_labelled() {
  ShardSet set;
  set.workload.optimizer = "rowwise_adagrad";
  for (const std::uint64_t rows : {1000U, 300U}) {
    Table table;
    table.name = fmt::format("of {}", rows);
    table.rows = rows;
    table.dim = 4;
    table.kind = TableKind::pooled;
    table.average_length = 2.5;
    set.workload.tables.push_back(table);
  }
  set.batch = 64;
  set.shards = {{{0, 8}, {1, 4}}, {{1, 16}}, {{0, 4}, {0, 8}}};
  ShardOptions options;
  options.visits = 2;
  std::vector<std::size_t> visited;
  const auto device = make_cuda_bench_device(0);
  measure_shards(*device, set, {}, options,
                 {{}, {}, [&](std::size_t shard, const ShardSeconds&) { visited.push_back(shard); }});
  if (visited != std::vector<std::size_t>{0, 1, 2, 0, 1, 2}) return "not every shard was visited twice";
  for (const std::optional<ShardSeconds>& label : set.labels)
    if (!label || !(label->forward > 0) || !(label->backward > 0)) return "a label is missing";
  return "";
}

bool holds(const std::string& what, const Fault& fault) {
  fmt::print("{}: {}\n", what, fault.empty() ? "as it should" : fault);
  return fault.empty();
}

}  // namespace

int main() {
  bool all = holds("kernels are loaded before the first call of CUDA", kernels_are_loaded_before_the_first_call());
  all &= holds("streams of collectives go first where it is asked for", streams_have_priorities(true));
  all &= holds("streams are alike where it is not", streams_have_priorities(false));
  all &= holds("events serve again", events_serve_again());
  all &= holds("calls use copies in turn", copies_take_turns());
  all &= holds("warm calls use the same memory", warm_calls_do_not());
  all &= holds("every kind of call", every_kind_rotates());
  all &= holds("labels of shards", shards_are_labelled());
  return all ? 0 : 1;
}
