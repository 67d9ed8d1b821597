#pragma once

#include "base/packed.h"
#include "sim/timeline/timeline.h"

namespace shardsim {

// The members of a Timeline, for its compact form and for values that hold one (base/packed.h).

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Span> auto& span) {
  visit(span.start_us, span.end_us, span.rank, span.stream, span.op, span.iteration, span.bytes);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Timeline::OpInfo> auto& op) {
  visit(op.name, op.op_class, op.alone_us, op.group, op.dtype, op.algorithm);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Timeline::Measured> auto& measured) {
  visit(measured.hosts, measured.device, measured.driver, measured.cuda, measured.nccl, measured.transport,
        measured.clock_residual_us);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Timeline> auto& timeline) {
  visit(timeline.kind, timeline.complete, timeline.world_size, timeline.ranks_per_node, timeline.streams, timeline.ops,
        timeline.groups, timeline.spans, timeline.hbm_bytes, timeline.bytes_out, timeline.bytes_in, timeline.flow,
        timeline.iteration_ms, timeline.iterations_run, timeline.steady, timeline.measured);
}

}  // namespace shardsim
