#include "sim/engine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "sim/execution.h"
#include "sim/node_classes.h"
#include "sim/op_work.h"
#include "sim/traffic.h"

namespace shardsim {
namespace {

// Occupied seconds of the busiest link over one iteration.
Utilisation busiest_link(const std::vector<OpWork>& works, const Cluster& cluster, double iteration_seconds) {
  std::vector<double> busy(cluster.links().size(), 0.0);
  for (const OpWork& work : works) {
    for (const OpWork::Call& call : work.calls) {
      for (const LinkLoad& load : call.loads.loads) {
        busy[load.link] += load.occupancy / cluster.links()[load.link].rate.bytes_per_second;
      }
    }
  }
  if (busy.empty()) return {};
  // Of links that are busy alike but for rounding, the first.
  const double least = (1 - 1e-9) * *std::max_element(busy.begin(), busy.end());
  const auto first = std::find_if(busy.begin(), busy.end(), [&](double seconds) { return seconds >= least; });
  return {cluster.links()[first - busy.begin()].name, *first / iteration_seconds};
}

Utilisation busiest_rank(const std::vector<OpWork>& works, int world_size, double iteration_seconds) {
  std::vector<double> busy(world_size, 0.0);
  for (const OpWork& work : works) {
    for (std::size_t rank = 0; rank < work.seconds.size(); ++rank) busy[rank] += std::max(work.seconds[rank], 0.0);
  }
  const auto most = std::max_element(busy.begin(), busy.end());
  return {"rank " + std::to_string(most - busy.begin()) + " compute", *most / iteration_seconds};
}

Timeline::OpInfo op_info(const Op& op, const OpWork& work) {
  Timeline::OpInfo info;
  info.name = op.name;
  info.op_class = op_class_name(op.op_class);
  info.alone_us = work.alone.us();
  if (op.is_collective()) {
    info.group = op.group;
    info.dtype = op.dtype;
    info.algorithm = work.calls.front().loads.algorithm;
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

SimulationResult simulate(const Program& program, const Cluster& cluster, const ComputeModel& compute, Network& network,
                          const EngineOptions& options) {
  const std::vector<OpWork> works = expand_ops(program, cluster, compute, options.algorithms);
  const NodeClasses classes = classify_nodes(works, cluster);
  Execution execution(program, cluster, works, classes, options);
  network.run(cluster.links(), execution.routes(), [&](NetworkSession& session) { execution.run(session); });

  SimulationResult result;
  Timeline& timeline = result.timeline;
  const Execution::Kept& kept = execution.kept();
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

  const Utilisation link = busiest_link(works, cluster, kept.seconds);
  const Utilisation rank = busiest_rank(works, cluster.world_size(), kept.seconds);
  result.busiest = link.share >= rank.share ? link : rank;
  return result;
}

}  // namespace shardsim
