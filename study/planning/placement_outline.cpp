#include "study/planning/placement_outline.h"

#include <algorithm>
#include <functional>

#include "sim/engine/op_work.h"
#include "sim/lower/lower.h"

namespace shardsim {
namespace {

// Those whose length no placement decides: the dense part, the host's wait, and the splits, a few bytes each.
bool is_given(OpRole role) {
  const bool dense = role >= OpRole::bottom_forward && role <= OpRole::dense_update;
  return dense || role == OpRole::exchange_splits || role == OpRole::wait_for_splits;
}

// Splits of all groups in one call are there whatever the plan, those of one group with the group.
bool is_always_there(const Op& op) {
  return is_given(op.role) && op.fusion < 0;
}

// Leaves in the one all-reduce only what every plan has: `plan` may replicate more than fits anywhere.
void leave_out_rows(Program& program, const DensePart& dense) {
  constexpr std::int64_t kFp32Bytes = 4;
  const std::int64_t elements = (dense.parameters.count + kFp32Bytes - 1) / kFp32Bytes;
  for (Op& op : program.ops) {
    if (op.role == OpRole::dense_all_reduce)
      op.bytes = std::min(op.bytes, elements * dtype_bytes(dense.all_reduce.dtype));
  }
}

std::vector<double> seconds_of(const Op& op, const Program& program, const Cluster& cluster,
                               const ComputeModel& compute) {
  Program alone = program;
  alone.ops = {op};
  const OpWork work = expand_ops(alone, cluster, compute, {}).front();
  if (work.is_collective()) return {work.alone.value};
  std::vector<double> seconds = work.seconds;
  if (std::ranges::adjacent_find(seconds, std::not_equal_to<>()) == seconds.end()) seconds.resize(1);
  return seconds;
}

}  // namespace

LoweringOptions priced_options(bool overlap, const Software* software) {
  LoweringOptions options{false, overlap};
  options.software = software;
  options.launches = false;
  return options;
}

IterationOutline iteration_outline(const Plan& plan, const Workload& workload, const Cluster& cluster,
                                   const ComputeModel& compute, bool overlap, const Software* software) {
  Program program = lower(plan, workload, cluster, priced_options(overlap, software));
  if (workload.dense.all_reduce.one_call) leave_out_rows(program, workload.dense);
  Program frame = program;
  frame.ops.clear();
  IterationOutline outline;
  outline.streams = static_cast<int>(program.streams.size());
  outline.pipelined = workload.pipeline != "none";
  for (const Op& op : program.ops) {
    OutlineOp& made = outline.ops.emplace_back();
    if (!is_always_there(op)) made.key = load_key(op, program, plan, workload);
    made.stream = op.stream;
    made.after = op.after;
    made.after_previous = op.after_previous;
    if (is_given(op.role)) made.seconds = seconds_of(op, frame, cluster, compute);
    made.collective = op.is_collective();
  }
  return outline;
}

}  // namespace shardsim
