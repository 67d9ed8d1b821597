#include "sim/engine/beneath_hosts.h"

#include <algorithm>
#include <map>

namespace shardsim {
namespace {

struct GpuSpan {
  double start = 0, end = 0;
  int op = 0;
  bool computes = false;
};

// The operations of some ranks that are not their hosts', as they ran.
class GpuSpans {
 public:
  // The ranks are those that have an entry in `of_ranks`, by number.
  GpuSpans(const PastRun& run, const PastSpans& spans, std::map<int, std::vector<std::vector<GpuSpan>>> of_ranks)
      : streams_(std::move(of_ranks)) {
    for (int iteration = 0; iteration < static_cast<int>(run.iterations.size()); ++iteration) {
      for (int rank = 0; rank < static_cast<int>(spans.ranks()); ++rank) {
        if (const auto own = streams_.find(spans.rank_number(rank)); own != streams_.end())
          add(run.program, spans, {rank, 0, iteration}, own->second);
      }
    }
    for (auto& [rank, streams] : streams_) {
      for (std::vector<GpuSpan>& stream : streams) std::ranges::sort(stream, {}, &GpuSpan::start);
    }
  }

  // Adds the seconds of [from, until) to those of the operations that run then.
  void charge(int rank, double from, double until, std::vector<double>& seconds) const {
    const std::vector<GpuSpan> running = running_in(rank, from, until);
    std::vector<double> edges{from, until};
    for (const GpuSpan& span : running) edges.insert(edges.end(), {span.start, span.end});
    std::ranges::sort(edges);
    for (std::size_t i = 1; i < edges.size(); ++i) {
      const double begin = edges[i - 1], end = edges[i];
      if (begin < from || end > until || end <= begin) continue;
      const auto busy = [&](const GpuSpan& span) { return span.start <= begin && span.end >= end; };
      if (const auto first = std::ranges::find_if(running, busy); first != running.end())
        seconds[static_cast<std::size_t>(first->op)] += end - begin;
    }
  }

 private:
  static void add(const Program& program, const PastSpans& spans, PastSpans::Node node,
                  std::vector<std::vector<GpuSpan>>& streams) {
    streams.resize(program.streams.size());
    for (const Op& op : program.ops) {
      node.op = op.id;
      const PastSpans::Span* const span = spans.find(node);
      if (span == nullptr || op.op_class == OpClass::host) continue;
      const PastSpans::Call call = spans.call_of(node.rank, op.id);
      const double start = call.number < 0 ? span->start : spans.begin(call, op.id, node.iteration);
      streams[static_cast<std::size_t>(op.stream)].push_back({start, span->end, op.id, call.number < 0});
    }
  }

  // Those that compute first. Spans of one stream follow each other.
  std::vector<GpuSpan> running_in(int rank, double from, double until) const {
    std::vector<GpuSpan> running;
    for (const std::vector<GpuSpan>& stream : streams_.at(rank)) {
      auto span = std::ranges::partition_point(stream, [&](const GpuSpan& each) { return each.end <= from; });
      for (; span != stream.end() && span->start < until; ++span) running.push_back(*span);
    }
    std::stable_partition(running.begin(), running.end(), [](const GpuSpan& span) { return span.computes; });
    return running;
  }

  std::map<int, std::vector<std::vector<GpuSpan>>> streams_;  // by rank: [stream], by time
};

}  // namespace

std::vector<double> beneath_hosts(const PastRun& run, const PastSpans& spans, const CriticalPath& path) {
  const auto of_host = [&](const PathStep& step) {
    return step.op >= 0 && run.program.op(step.op).op_class == OpClass::host;
  };
  std::map<int, std::vector<std::vector<GpuSpan>>> ranks;
  for (const PathStep& step : path.steps)
    if (of_host(step)) ranks.try_emplace(step.rank);
  if (ranks.empty()) return {};
  const GpuSpans gpus(run, spans, std::move(ranks));
  std::vector<double> seconds(run.program.ops.size(), 0.0);
  for (const PathStep& step : path.steps)
    if (of_host(step)) gpus.charge(step.rank, step.start, step.start + step.seconds * path.turns, seconds);
  for (double& each : seconds) each /= path.turns;
  return seconds;
}

}  // namespace shardsim
