#include <algorithm>

#include "sim/engine/execution.h"
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

// [op][rank] bytes of a rank in a span of a collective; nothing for compute.
std::vector<std::vector<std::int64_t>> payloads_of(const std::vector<OpWork>& works, int world_size) {
  std::vector<std::vector<std::int64_t>> bytes(works.size());
  for (std::size_t op = 0; op < works.size(); ++op) {
    if (works[op].is_collective()) bytes[op].assign(world_size, 0);
    for (const OpWork::Call& call : works[op].calls) {
      for (std::size_t member = 0; member < call.ranks.size(); ++member) {
        bytes[op][call.ranks[member]] = call.payload[member];
      }
    }
  }
  return bytes;
}

// Spans of the representatives, repeated for every rank they stand for, in microseconds since the iteration's start.
std::vector<Span> spread(const Execution::Kept& kept, const std::vector<OpWork>& works, const NodeClasses& classes,
                         const Cluster& cluster) {
  const auto payloads = payloads_of(works, cluster.world_size());
  std::vector<std::vector<const Execution::RawSpan*>> of_rank(cluster.world_size());
  for (const Execution::RawSpan& span : kept.spans) of_rank[span.rank].push_back(&span);
  std::vector<Span> spans;
  for (int rank = 0; rank < cluster.world_size(); ++rank) {
    const int stand_in =
        classes.representative[cluster.node_of(rank)] * cluster.ranks_per_node() + cluster.gpu_of(rank);
    for (const Execution::RawSpan* raw : of_rank[stand_in]) {
      spans.push_back({(raw->start - kept.origin) * 1e6, (raw->end - kept.origin) * 1e6, rank, raw->stream, raw->op, 0,
                       payloads[raw->op].empty() ? 0 : payloads[raw->op][rank]});
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

std::vector<double> link_seconds(const std::vector<OpWork>& works, const Cluster& cluster) {
  std::vector<double> busy(cluster.links().size(), 0.0);
  for (const OpWork& work : works) {
    for (const OpWork::Call& call : work.calls) {
      for (const LinkLoad& load : call.loads.loads) {
        busy[load.link] += load.occupancy / cluster.links()[load.link].rate.bytes_per_second;
      }
    }
  }
  return busy;
}

Utilisation busiest_link(const std::vector<double>& busy, const Cluster& cluster, double seconds) {
  if (busy.empty()) return {};
  const double least = (1 - 1e-9) * *std::max_element(busy.begin(), busy.end());
  const auto first = std::find_if(busy.begin(), busy.end(), [&](double each) { return each >= least; });
  return {cluster.links()[first - busy.begin()].name, *first / seconds};
}

Utilisation busiest_rank(const Program& program, const std::vector<OpWork>& works, double iteration_seconds) {
  const auto ranks = static_cast<std::size_t>(program.world_size);
  std::vector<double> busy(ranks * program.streams.size(), 0.0);  // [stream][rank]
  for (const Op& op : program.ops) {
    const std::vector<double>& seconds = works[static_cast<std::size_t>(op.id)].seconds;
    const std::size_t stream = static_cast<std::size_t>(op.stream) * ranks;
    for (std::size_t rank = 0; rank < seconds.size(); ++rank) busy[stream + rank] += std::max(seconds[rank], 0.0);
  }
  const auto most = std::max_element(busy.begin(), busy.end());
  const auto at = static_cast<std::size_t>(most - busy.begin());
  return {"rank " + std::to_string(at % ranks) + " " + program.streams[at / ranks], *most / iteration_seconds};
}

}  // namespace shardsim
