#include "study/run/traced_parts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "program/timeline/arrivals.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostLinks = 64;

const char* word_of(PathStep::Kind kind) {
  switch (kind) {
    case PathStep::Kind::work:
      return "work";
    case PathStep::Kind::start:
      return "start";
    case PathStep::Kind::transfer:
      return "transfer";
    case PathStep::Kind::held:
      return "held";
    case PathStep::Kind::rest:
      return "rest";
  }
  return "";
}

// The spans of the last kept iteration, by operation and rank.
using SpanOf = std::map<std::pair<int, int>, std::size_t>;

SpanOf spans_of_last(const Timeline& timeline) {
  int last = 0;
  for (const Span& span : timeline.spans) last = std::max(last, span.iteration);
  SpanOf spans;
  for (std::size_t at = 0; at < timeline.spans.size(); ++at) {
    const Span& span = timeline.spans[at];
    if (span.iteration == last) spans.try_emplace({span.op, span.rank}, at);
  }
  return spans;
}

// By how much the Timeline's clock is behind that of the run: a step that is work is a whole span.
double clock_shift_us(const Timeline& timeline, const SpanOf& spans, const CriticalPath& path) {
  for (const PathStep& step : path.steps) {
    const auto found = spans.find({step.op, step.rank});
    if (step.kind == PathStep::Kind::work && step.iteration == 0 && found != spans.end())
      return timeline.spans[found->second].start_us - step.start * 1e6;
  }
  return 0;
}

void add_path(TracedParts& parts, const PreparedCase& prepared, const Timeline& timeline, const SpanOf& spans,
              const CriticalPath& path) {
  const double shift = clock_shift_us(timeline, spans, path);
  parts.turns = path.turns;
  parts.period_us = path.repeats ? path.seconds * 1e6 : 0;
  for (const PathStep& step : path.steps) {
    const bool link = step.link >= 0 && step.link < static_cast<int>(prepared.cluster.links().size());
    parts.path.push_back({word_of(step.kind), step.op, step.rank, step.start * 1e6 + shift, step.seconds * 1e6,
                          link ? prepared.cluster.link_name(step.link) : ""});
  }
}

void add_waits(TracedParts& parts, const Program& program) {
  for (const Op& op : program.ops) {
    for (const int before : op.after)
      if (program.op(before).is_collective()) parts.waits.push_back({before, op.id});
  }
}

// A load of a call on a link, and when it moves.
struct Use {
  LinkId link = 0;
  TracedParts::LinkUse use;
};

std::vector<Use> uses_of(const OpWork::Call& call, int op, const PreparedCase& prepared, const Timeline& timeline,
                         const SpanOf& spans, const Arrivals& arrivals) {
  std::vector<Use> uses;
  const auto first = call.ranks.empty() ? spans.end() : spans.find({op, call.ranks.front()});
  if (first == spans.end()) return uses;
  double end = 0;
  for (const int rank : call.ranks) {
    const auto span = spans.find({op, rank});
    if (span != spans.end()) end = std::max(end, timeline.spans[span->second].end_us);
  }
  const double begin = std::min(end, arrivals.begin_us(first->second) + call.loads.start.value * 1e6);
  for (const LinkLoad& load : call.loads.loads) {
    if (!(load.bytes > 0)) continue;
    const double rate = prepared.cluster.links()[static_cast<std::size_t>(load.link)].rate.bytes_per_second;
    uses.push_back({load.link, {0, op, begin, end, load.bytes, load.occupancy / rate * 1e6}});
  }
  return uses;
}

// The busiest links, in the order of the cluster.
void keep_busiest(TracedParts& parts, std::vector<Use> uses, const Cluster& cluster) {
  std::map<LinkId, double> busy;
  for (const Use& each : uses) busy[each.link] += each.use.busy_us;
  std::vector<std::pair<double, LinkId>> order;
  for (const auto& [link, us] : busy) order.emplace_back(-us, link);
  std::ranges::sort(order);
  parts.links_in_all = order.size();
  order.resize(std::min(order.size(), kMostLinks));
  std::map<LinkId, int> place;
  for (const auto& [us, link] : order) place[link] = 0;
  for (auto& [link, at] : place) {
    at = static_cast<int>(parts.links.size());
    parts.links.push_back(cluster.link_name(link));
  }
  for (Use& each : uses) {
    const auto known = place.find(each.link);
    if (known == place.end()) continue;
    each.use.link = known->second;
    parts.uses.push_back(each.use);
  }
}

void add_links(TracedParts& parts, const PreparedCase& prepared, const Timeline& timeline, const SpanOf& spans) {
  const std::vector<OpWork> works = prepared.works(prepared.program());
  const Arrivals arrivals(timeline);
  std::vector<Use> uses;
  for (std::size_t op = 0; op < works.size(); ++op) {
    for (const OpWork::Call& call : works[op].calls) {
      std::vector<Use> of_call = uses_of(call, static_cast<int>(op), prepared, timeline, spans, arrivals);
      uses.insert(uses.end(), of_call.begin(), of_call.end());
    }
  }
  keep_busiest(parts, std::move(uses), prepared.cluster);
}

}  // namespace

TracedParts traced_parts(const PreparedCase& prepared, const Timeline& timeline, const CriticalPath& path) {
  TracedParts parts;
  const SpanOf spans = spans_of_last(timeline);
  add_path(parts, prepared, timeline, spans, path);
  add_waits(parts, prepared.program());
  if (prepared.item.load.batches == LoadOptions::Batches::expected) add_links(parts, prepared, timeline, spans);
  return parts;
}

}  // namespace shardsim
