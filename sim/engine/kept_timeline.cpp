#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>

#include "program/timeline/traffic.h"
#include "sim/engine/earliest.h"
#include "sim/engine/execution.h"

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

using RawSpan = Execution::RawSpan;

// [op] its place among all operations, by stream and number.
std::vector<std::size_t> places_of(const std::vector<Op>& ops) {
  std::vector<std::size_t> order(ops.size()), places(ops.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t op) { return ops[op].stream; });
  for (std::size_t place = 0; place < order.size(); ++place) places[order[place]] = place;
  return places;
}

// In microseconds since the iteration's start, in the order of a Timeline: by start, rank, stream and operation. An
// iteration has each operation once on a rank, so that rank and operation say where a span belongs.
std::vector<RawSpan> in_order(const Execution::Kept& kept, const Program& program) {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  const std::size_t ops = program.ops.size();
  const std::vector<std::size_t> places = places_of(program.ops);
  std::vector<std::uint32_t> found(static_cast<std::size_t>(program.world_size) * ops, kNone);  // [rank][place]
  for (std::size_t at = 0; at < kept.spans.size(); ++at) {
    const RawSpan& span = kept.spans[at];
    found[static_cast<std::size_t>(span.rank) * ops + places[static_cast<std::size_t>(span.op)]] =
        static_cast<std::uint32_t>(at);
  }
  std::vector<RawSpan> spans;
  spans.reserve(kept.spans.size());
  for (const std::uint32_t at : found) {
    if (at == kNone) continue;
    RawSpan& span = spans.emplace_back(kept.spans[at]);
    span.start = (span.start - kept.origin) * 1e6;
    span.end = (span.end - kept.origin) * 1e6;
  }
  sort_by_time(spans, [](const RawSpan& span) { return span.start; });
  return spans;
}

// Spans of simulated nodes, repeated for every node they stand for, in the order of a Timeline.
class Spread {
 public:
  Spread(const std::vector<OpWork>& works, const NodeClasses& classes, const Cluster& cluster)
      : cluster_(cluster), payloads_(payloads_of(works, cluster.world_size())), nodes_of_(cluster.nodes()) {
    for (int node = 0; node < cluster.nodes(); ++node) nodes_of_[classes.representative[node]].push_back(node);
  }

  // Spans that start at one time on many nodes are put in order node by node.
  std::vector<Span> of(const std::vector<RawSpan>& simulated) {
    std::size_t count = 0;
    for (const RawSpan& span : simulated) count += nodes_of_[cluster_.node_of(span.rank)].size();
    spans_.reserve(count);
    for (std::size_t first = 0; first < simulated.size();) {
      std::vector<OnNode> together;
      const double start = simulated[first].start;
      while (first < simulated.size() && simulated[first].start == start) first = take_node(simulated, first, together);
      std::ranges::sort(together, {}, &OnNode::node);
      for (const OnNode& each : together) repeat(each);
    }
    return std::move(spans_);
  }

 private:
  // Spans of one simulated node that start together, as they are on `node`.
  struct OnNode {
    int node = 0;
    std::span<const RawSpan> spans;
  };

  // The spans from `first` on that start together on one node; returns where they end.
  std::size_t take_node(const std::vector<RawSpan>& simulated, std::size_t first, std::vector<OnNode>& together) const {
    const int node = cluster_.node_of(simulated[first].rank);
    const auto belongs = [&](const RawSpan& span) {
      return span.start == simulated[first].start && cluster_.node_of(span.rank) == node;
    };
    std::size_t last = first;
    while (last < simulated.size() && belongs(simulated[last])) ++last;
    for (const int each : nodes_of_[node]) together.push_back({each, {&simulated[first], last - first}});
    return last;
  }

  void repeat(const OnNode& each) {
    for (const RawSpan& span : each.spans) {
      const int rank = each.node * cluster_.ranks_per_node() + cluster_.gpu_of(span.rank);
      const std::int64_t bytes = payloads_[span.op].empty() ? 0 : payloads_[span.op][rank];
      spans_.push_back({span.start, span.end, rank, span.stream, span.op, 0, bytes});
    }
  }

  const Cluster& cluster_;
  const std::vector<std::vector<std::int64_t>> payloads_;
  std::vector<std::vector<int>> nodes_of_;  // [representative]
  std::vector<Span> spans_;
};

}  // namespace

Timeline timeline_without_traffic(const Execution::Kept& kept, const Program& program, const std::vector<OpWork>& works,
                                  const NodeClasses& classes, const Cluster& cluster) {
  Timeline timeline;
  timeline.world_size = cluster.world_size();
  timeline.ranks_per_node = cluster.ranks_per_node();
  timeline.streams = program.streams;
  timeline.groups = program.groups;
  for (const Op& op : program.ops) timeline.ops.push_back(op_info(op, works[op.id]));
  timeline.spans = Spread(works, classes, cluster).of(in_order(kept, program));
  timeline.iteration_ms = kept.seconds * 1e3;
  timeline.iterations_run = kept.iterations_run;
  timeline.steady = kept.steady;
  return timeline;
}

Timeline timeline_of(const Execution::Kept& kept, const Program& program, const std::vector<OpWork>& works,
                     const NodeClasses& classes, const Cluster& cluster) {
  Timeline timeline = timeline_without_traffic(kept, program, works, classes, cluster);
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
  return {cluster.link_name(static_cast<LinkId>(first - busy.begin())), *first / seconds};
}

}  // namespace shardsim
