#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/document/document.h"
#include "program/timeline/arrivals.h"
#include "program/timeline/iteration_window.h"
#include "study/report/charts/chart_data.h"
#include "study/report/wording.h"
#include "study/result/result.h"

namespace shardsim {
namespace {

constexpr int kRanks = 16;
constexpr std::size_t kLanes = 96, kLinksShown = 12;
constexpr double kFinest = 1.0 / (1 << 20);  // of the whole time: where joining begins, if there are too many marks

// A step, or one of the two parts of a step that goes over the end of the window.
struct PlacedStep {
  double start_us = 0, end_us = 0;
  const TracedParts::Step* step = nullptr;
};

// Steps of a path that covers several iterations lie one behind the other, as means. In a path that repeats itself the
// part before the iteration lies behind it, for there it runs again.
std::vector<PlacedStep> placed_steps(const TracedParts& parts, const IterationWindow& window) {
  std::vector<PlacedStep> placed;
  double next_us = window.begin_us;
  for (const TracedParts::Step& step : parts.path) {
    double start = parts.turns > 1 ? next_us : step.start_us;
    next_us += step.us;
    if (parts.turns == 1 && parts.period_us > 0) {
      const double begin = window.end_us - parts.period_us;
      start -= parts.period_us * std::floor((start - begin) / parts.period_us);
      const double over = start + step.us - window.end_us;
      if (over > 0) {
        placed.push_back({begin, begin + over, &step});
        placed.push_back({start, window.end_us, &step});
        continue;
      }
    }
    placed.push_back({start, start + step.us, &step});
  }
  std::ranges::stable_sort(placed, {}, &PlacedStep::start_us);
  return placed;
}

const Timeline::OpInfo& op_of(const Timeline& timeline, int op) {
  return timeline.ops.at(static_cast<std::size_t>(op));
}

// The links of the path, then those that are busy longest.
std::set<int> shown_links(const TracedParts& parts) {
  std::vector<double> busy(parts.links.size());
  for (const TracedParts::LinkUse& use : parts.uses) busy[static_cast<std::size_t>(use.link)] += use.busy_us;
  for (const TracedParts::Step& step : parts.path) {
    const auto at = std::ranges::find(parts.links, step.link);
    if (at != parts.links.end()) busy[static_cast<std::size_t>(at - parts.links.begin())] += 1e15 + step.us;
  }
  std::vector<int> order;
  for (std::size_t link = 0; link < busy.size(); ++link) order.push_back(static_cast<int>(link));
  std::ranges::stable_sort(order, std::greater{}, [&](int link) { return busy[static_cast<std::size_t>(link)]; });
  order.resize(std::min(order.size(), kLinksShown));
  return {order.begin(), order.end()};
}

std::vector<WindowPart> parts_of_use(const TracedParts::LinkUse& use, const IterationWindow& window) {
  std::vector<WindowPart> parts;
  Span span;
  span.start_us = use.start_us;
  span.end_us = use.end_us;
  if (window.repeats) {
    add_copies(parts, span, 0, window);
  } else {
    parts.push_back({0, use.start_us, use.end_us, 0, 0, false});
  }
  return parts;
}

// Where the time of a timeline begins, us on the Timeline's clock: with the window, or the first span that belongs to
// it.
double timeline_zero_us(const Timeline& timeline) {
  const IterationWindow window = iteration_windows(timeline).back();
  double zero = window.begin_us;
  if (window.repeats) return zero;
  for (const Span& span : timeline.spans)
    if (span.iteration == window.iteration) zero = std::min(zero, span.start_us);
  return zero;
}

// Of a case without TracedParts there is neither path nor links. Times are those of the window of its last kept
// iteration, from timeline_zero_us() on.

// The steps of the critical path in the order of time. Columns: rank (-1: none), op ("": none), class, kind
// (TracedParts::Step), link (in words), start_ms, end_ms.
DataSet timeline_path(const CaseResult& result) {
  DataSet set{"path", {"rank", "op", "class", "kind", "link", "start_ms", "end_ms"}, {}};
  const Timeline& timeline = result.timeline;
  if (!result.traced || timeline.spans.empty()) return set;
  const double zero = timeline_zero_us(timeline);
  for (const PlacedStep& placed : placed_steps(*result.traced, iteration_windows(timeline).back())) {
    const TracedParts::Step& step = *placed.step;
    if (placed.end_us <= placed.start_us) continue;
    const std::string op = step.op < 0 ? "" : op_of(timeline, step.op).name;
    const std::string shown = step.op < 0 ? "idle" : display_class(op, op_of(timeline, step.op).op_class);
    set.rows.push_back({static_cast<double>(step.rank), op, shown, step.kind, unit_in_words(step.link),
                        (placed.start_us - zero) / 1e3, (placed.end_us - zero) / 1e3});
  }
  return set;
}

// The bytes that move over the links of the path and over the busiest others. Columns: link (in words), op, class,
// start_ms, end_ms, moved_mb, busy_ms (that the link would take for these bytes alone).
DataSet timeline_links(const CaseResult& result) {
  DataSet set{"links", {"link", "op", "class", "start_ms", "end_ms", "moved_mb", "busy_ms"}, {}};
  const Timeline& timeline = result.timeline;
  if (!result.traced || timeline.spans.empty()) return set;
  const IterationWindow window = iteration_windows(timeline).back();
  const std::set<int> shown = shown_links(*result.traced);
  const double zero = timeline_zero_us(timeline);
  std::vector<const TracedParts::LinkUse*> uses;
  for (const TracedParts::LinkUse& use : result.traced->uses)
    if (shown.contains(use.link)) uses.push_back(&use);
  std::ranges::stable_sort(uses, {},
                           [](const TracedParts::LinkUse* use) { return std::pair(use->link, use->start_us); });
  for (const TracedParts::LinkUse* use : uses) {
    const Timeline::OpInfo& op = op_of(timeline, use->op);
    for (const WindowPart& part : parts_of_use(*use, window)) {
      set.rows.push_back({unit_in_words(result.traced->links[static_cast<std::size_t>(use->link)]), op.name,
                          display_class(op.name, op.op_class), (part.start_us - zero) / 1e3, (part.end_us - zero) / 1e3,
                          use->bytes / 1e6, use->busy_us / 1e3});
    }
  }
  return set;
}

// Ranks by their time on the path, the longest first.
std::vector<int> ranks_on_path(const CaseResult& result) {
  std::map<int, double> us;
  if (result.traced) {
    for (const TracedParts::Step& step : result.traced->path)
      if (step.rank >= 0 && step.op >= 0) us[step.rank] += step.us;
  }
  std::vector<int> ranks;
  for (const auto& [rank, time] : us) ranks.push_back(rank);
  std::ranges::stable_sort(ranks, std::greater{}, [&](int rank) { return us.at(rank); });
  return ranks;
}

// The operations and ranks of its steps.
std::set<std::pair<int, int>> operations_on_path(const CaseResult& result) {
  std::set<std::pair<int, int>> operations;
  if (!result.traced) return operations;
  for (const TracedParts::Step& step : result.traced->path) operations.emplace(step.op, step.rank);
  return operations;
}

struct Mark {
  int rank = 0;
  int stream = 0;
  std::string op, op_class;
  double start_us = 0, begin_us = 0, end_us = 0;  // begin: when a collective no longer waits for a member
  double bytes = 0;
  int ahead = 0;  // of the iteration so many after the window's
  bool on_path = false;
  double length() const { return end_us - start_us; }
};

std::set<int> streams_in_use(const Timeline& timeline) {
  std::set<int> streams;
  for (const Span& span : timeline.spans) streams.insert(span.stream);
  return streams;
}

int most_ranks(const Timeline& timeline, std::size_t streams) {
  const int by_lanes = static_cast<int>(kLanes / std::max<std::size_t>(1, streams));
  return std::max(1, std::min({kRanks, by_lanes, std::max(1, timeline.world_size)}));
}

// Those of the node whose rank is longest on the critical path, or of node 0 where no path is known; where there is
// room for more, the others on the path, too.
std::set<int> chosen_ranks(const CaseResult& result, std::size_t streams) {
  const Timeline& timeline = result.timeline;
  const int most = most_ranks(timeline, streams), world = std::max(1, timeline.world_size);
  const int node = std::clamp(timeline.ranks_per_node, 1, world);
  const std::vector<int> on_path = ranks_on_path(result);
  const int main = on_path.empty() ? 0 : on_path.front();
  const int of_node = std::min(timeline.ranks_per_node > 0 ? node : world, most);
  const int first_of_node = timeline.ranks_per_node > 0 ? main / node * node : 0;
  const int last_first = std::max(first_of_node, std::min(world, first_of_node + node) - of_node);
  const int first = std::clamp(main - of_node / 2, first_of_node, last_first);
  std::set<int> ranks;
  for (int rank = first; rank < std::min(first + of_node, world); ++rank) ranks.insert(rank);
  for (const int rank : on_path)
    if (static_cast<int>(ranks.size()) < most) ranks.insert(rank);
  return ranks;
}

// The parts that lie in a window need no more of a Timeline than its spans.
Timeline spans_of(const Timeline& timeline, const std::set<int>& ranks, std::vector<std::size_t>& places) {
  Timeline some;
  for (std::size_t at = 0; at < timeline.spans.size(); ++at) {
    if (!ranks.contains(timeline.spans[at].rank)) continue;
    some.spans.push_back(timeline.spans[at]);
    places.push_back(at);
  }
  return some;
}

// The marks lie in the window of the last kept iteration; a steady one that overlaps its neighbours has parts there of
// those that come after it.
std::vector<Mark> marks_of(const CaseResult& result, const std::set<int>& ranks) {
  const Timeline& timeline = result.timeline;
  const IterationWindow window = iteration_windows(timeline).back();
  const std::set<std::pair<int, int>> path = operations_on_path(result);
  const Arrivals arrivals(timeline);
  std::vector<Mark> marks;
  std::vector<std::size_t> places;
  const Timeline some = spans_of(timeline, ranks, places);
  const auto add = [&](std::size_t at, double start_us, double end_us, double shift_us, int ahead) {
    const Span& span = some.spans[at];
    const Timeline::OpInfo& op = timeline.ops.at(static_cast<std::size_t>(span.op));
    const double begin_us = std::clamp(arrivals.begin_us(places[at]) + shift_us, start_us, end_us);
    marks.push_back({span.rank, span.stream, op.name, display_class(op.name, op.op_class), start_us, begin_us, end_us,
                     static_cast<double>(span.bytes), ahead, path.contains({span.op, span.rank})});
  };
  if (window.repeats) {
    const auto parts = parts_in(some, {window});
    for (const WindowPart& part : parts.front()) add(part.span, part.start_us, part.end_us, part.shift_us, part.ahead);
  } else {
    for (std::size_t at = 0; at < some.spans.size(); ++at) {
      const Span& span = some.spans[at];
      if (span.iteration == window.iteration) add(at, span.start_us, span.end_us, 0, 0);
    }
  }
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) {
    return std::tie(a.rank, a.stream, a.start_us) < std::tie(b.rank, b.stream, b.start_us);
  });
  return marks;
}

bool join_into(Mark& last, const Mark& next, double blur_us) {
  const bool same_lane = last.rank == next.rank && last.stream == next.stream && last.ahead == next.ahead;
  const bool alike = last.op == next.op || (last.length() < blur_us && next.length() < blur_us);
  if (!same_lane || !alike || next.start_us - last.end_us > blur_us) return false;
  if (next.length() > last.length()) {
    last.op = next.op;
    last.op_class = next.op_class;
  }
  // The joined mark waits as long as both did.
  last.begin_us += next.begin_us - next.start_us;
  last.end_us = std::max(last.end_us, next.end_us);
  last.begin_us = std::min(last.begin_us, last.end_us);
  last.on_path = last.on_path || next.on_path;
  last.bytes += next.bytes;
  return true;
}

std::vector<Mark> blurred(const std::vector<Mark>& marks, double blur_us) {
  std::vector<Mark> result;
  for (const Mark& mark : marks) {
    if (result.empty() || !join_into(result.back(), mark, blur_us)) result.push_back(mark);
  }
  return result;
}

double duration_us(const std::vector<Mark>& marks) {
  double first = std::numeric_limits<double>::max(), last = 0;
  for (const Mark& mark : marks) {
    first = std::min(first, mark.start_us);
    last = std::max(last, mark.end_us);
  }
  return marks.empty() ? 0 : last - first;
}

// Every doubling joins more; past the whole iteration each lane is one mark. Returns the gap, us, up to which marks are
// joined; 0: each operation is a mark of its own.
double join_to_budget(std::vector<Mark>& marks, std::size_t budget) {
  const double whole = duration_us(marks);
  if (marks.size() <= budget) return 0;
  double blur_us = whole * kFinest;
  std::vector<Mark> joined = blurred(marks, blur_us);
  while (joined.size() > budget && blur_us > 0 && blur_us <= 2 * whole) {
    blur_us *= 2;
    joined = blurred(joined, blur_us);
  }
  marks = std::move(joined);
  return blur_us;
}

std::string stream_name(const Timeline& timeline, int stream) {
  const auto index = static_cast<std::size_t>(stream);
  return index < timeline.streams.size() ? timeline.streams[index] : "stream " + std::to_string(stream);
}

DataSet lanes_of(const Timeline& timeline, const std::set<int>& ranks, const std::set<int>& streams) {
  DataSet lanes{"lanes", {"rank", "node", "stream"}, {}};
  const int node = std::max(1, timeline.ranks_per_node > 0 ? timeline.ranks_per_node : timeline.world_size);
  for (const int rank : ranks) {
    const int of_node = rank / node;
    for (const int stream : streams)
      lanes.rows.push_back({static_cast<double>(rank), static_cast<double>(of_node), stream_name(timeline, stream)});
  }
  return lanes;
}

}  // namespace

std::vector<const CaseResult*> timeline_cases(const StudyResult& study) {
  std::vector<const CaseResult*> chosen;
  std::map<std::string, std::size_t> position;  // of a workload's case in `chosen`
  for (const CaseResult& item : study.cases) {
    if (item.timeline.spans.empty()) continue;
    const auto [entry, is_new] = position.try_emplace(item.workload, chosen.size());
    if (is_new) {
      chosen.push_back(&item);
    } else if (item.iteration_ms < chosen[entry->second]->iteration_ms) {
      chosen[entry->second] = &item;
    }
  }
  return chosen;
}

std::vector<DataSet> timeline_spans(const CaseResult& result, std::size_t budget) {
  const Timeline& timeline = result.timeline;
  DataSet spans{
      "spans", {"rank", "stream", "op", "class", "start_ms", "begin_ms", "end_ms", "moved_mb", "ahead", "path"}, {}};
  DataSet view{"view", {"iteration_ms", "joined_ms", "gpus"}, {}};
  if (timeline.spans.empty())
    return {spans, {"lanes", {"rank", "node", "stream"}, {}}, timeline_path(result), timeline_links(result), view};
  const std::set<int> streams = streams_in_use(timeline);
  const std::set<int> ranks = chosen_ranks(result, streams.size());
  std::vector<Mark> marks = marks_of(result, ranks);
  const double joined_us = join_to_budget(marks, budget), zero_us = timeline_zero_us(timeline);
  for (const Mark& mark : marks) {
    spans.rows.push_back({static_cast<double>(mark.rank), stream_name(timeline, mark.stream), mark.op, mark.op_class,
                          (mark.start_us - zero_us) / 1e3, (mark.begin_us - zero_us) / 1e3,
                          (mark.end_us - zero_us) / 1e3, mark.bytes / 1e6, static_cast<double>(mark.ahead),
                          mark.on_path ? "yes" : ""});
  }
  view.rows.push_back({timeline.iteration_ms, joined_us / 1e3, static_cast<double>(timeline.world_size)});
  return {spans, lanes_of(timeline, ranks, streams), timeline_path(result), timeline_links(result), view};
}

}  // namespace shardsim
