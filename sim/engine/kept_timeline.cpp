#include "sim/engine/kept_timeline.h"

#include "sim/timeline/traffic.h"

namespace shardsim {
namespace {

Timeline::OpInfo op_info(const Op& op, const OpWork& work) {
  Timeline::OpInfo info;
  info.name = op.name;
  info.op_class = op_class_name(op.op_class);
  info.alone_us = work.alone.us();
  if (op.is_collective()) {
    info.group = op.group;
    info.dtype = op.dtype;
    info.algorithm = work.calls.front().loads.algorithm;
    info.protocol = work.calls.front().loads.protocol;
  }
  return info;
}

// Bytes of a rank in a span of a collective.
class Payloads {
 public:
  Payloads(const std::vector<OpWork>& works, int world_size) : bytes_(works.size()) {
    for (std::size_t op = 0; op < works.size(); ++op) {
      bytes_[op].assign(works[op].is_collective() ? world_size : 0, 0);
      for (const OpWork::Call& call : works[op].calls) {
        for (std::size_t member = 0; member < call.ranks.size(); ++member) {
          bytes_[op][call.ranks[member]] = call.payload[member];
        }
      }
    }
  }
  std::int64_t of(int op, int rank) const { return bytes_[op].empty() ? 0 : bytes_[op][rank]; }

 private:
  std::vector<std::vector<std::int64_t>> bytes_;
};

// Spans of the representatives, repeated for every rank they stand for, in microseconds since the iteration's start.
std::vector<Span> spread(const Execution::Kept& kept, const std::vector<OpWork>& works, const NodeClasses& classes,
                         const Cluster& cluster) {
  const Payloads payloads(works, cluster.world_size());
  std::vector<std::vector<const Execution::RawSpan*>> of_rank(cluster.world_size());
  for (const Execution::RawSpan& span : kept.spans) of_rank[span.rank].push_back(&span);
  std::vector<Span> spans;
  for (int rank = 0; rank < cluster.world_size(); ++rank) {
    const int stand_in =
        classes.representative[cluster.node_of(rank)] * cluster.ranks_per_node() + cluster.gpu_of(rank);
    for (const Execution::RawSpan* raw : of_rank[stand_in]) {
      spans.push_back({(raw->start - kept.origin) * 1e6, (raw->end - kept.origin) * 1e6, rank, raw->stream, raw->op, 0,
                       payloads.of(raw->op, rank)});
    }
  }
  return spans;
}

}  // namespace

Timeline timeline_of(const Execution::Kept& kept, const Program& program, const std::vector<OpWork>& works,
                     const NodeClasses& classes, const Cluster& cluster) {
  Timeline timeline;
  timeline.world_size = cluster.world_size();
  timeline.ranks_per_node = cluster.ranks_per_node();
  timeline.streams = program.streams;
  timeline.groups = program.groups;
  for (const Op& op : program.ops) timeline.ops.push_back(op_info(op, works[op.id]));
  timeline.spans = spread(kept, works, classes, cluster);
  timeline.iteration_ms = kept.seconds * 1e3;
  timeline.iterations_run = kept.iterations_run;
  timeline.steady = kept.steady;
  sort_spans(timeline);
  add_traffic(timeline, program);
  return timeline;
}

}  // namespace shardsim
