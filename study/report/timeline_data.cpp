#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "program/timeline/iteration_window.h"
#include "study/report/chart_data.h"

namespace shardsim {

namespace {

constexpr int kRanks = 16;
constexpr std::size_t kLanes = 96;
constexpr double kPlotPixels = 900;

struct Mark {
  int rank = 0;
  int stream = 0;
  std::string op, op_class;
  double start_us = 0, end_us = 0;
  double bytes = 0;
  int ahead = 0;  // of the iteration so many after the window's
  double length() const { return end_us - start_us; }
};

std::set<int> streams_in_use(const Timeline& timeline) {
  std::set<int> streams;
  for (const Span& span : timeline.spans) streams.insert(span.stream);
  return streams;
}

int shown_ranks(const Timeline& timeline, std::size_t streams) {
  const int node = timeline.ranks_per_node > 0 ? timeline.ranks_per_node : timeline.world_size;
  const int by_lanes = static_cast<int>(kLanes / std::max<std::size_t>(1, streams));
  return std::max(1, std::min({node, kRanks, by_lanes, std::max(1, timeline.world_size)}));
}

// The parts that lie in a window need no more of a Timeline than its spans.
Timeline spans_of_first(const Timeline& timeline, int ranks) {
  Timeline first;
  std::ranges::copy_if(timeline.spans, std::back_inserter(first.spans),
                       [&](const Span& span) { return span.rank < ranks; });
  return first;
}

// The first kept iteration; a steady one that overlaps its neighbours by the window of one period, which holds parts of
// those that come after it.
std::vector<Mark> marks_of(const Timeline& timeline, int ranks) {
  const IterationWindow window = iteration_windows(timeline).front();
  std::vector<Mark> marks;
  const Timeline first = spans_of_first(timeline, ranks);
  const auto add = [&](const Span& span, double start_us, double end_us, int ahead) {
    const Timeline::OpInfo& op = timeline.ops.at(static_cast<std::size_t>(span.op));
    marks.push_back({span.rank, span.stream, op.name, display_class(op.name, op.op_class), start_us, end_us,
                     static_cast<double>(span.bytes), ahead});
  };
  if (window.repeats) {
    const auto parts = parts_in(first, {window});
    for (const WindowPart& part : parts.front()) add(first.spans[part.span], part.start_us, part.end_us, part.ahead);
  } else {
    for (const Span& span : first.spans)
      if (span.iteration == window.iteration) add(span, span.start_us, span.end_us, 0);
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
  last.end_us = std::max(last.end_us, next.end_us);
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

// Every doubling joins more; past the whole iteration each lane is one mark.
std::vector<Mark> within_budget(const std::vector<Mark>& marks, std::size_t budget) {
  const double whole = duration_us(marks);
  double blur_us = whole / kPlotPixels / 2;
  std::vector<Mark> result = blurred(marks, blur_us);
  while (result.size() > budget && blur_us > 0 && blur_us <= 2 * whole) {
    blur_us *= 2;
    result = blurred(result, blur_us);
  }
  return result;
}

std::string stream_name(const Timeline& timeline, int stream) {
  const auto index = static_cast<std::size_t>(stream);
  return index < timeline.streams.size() ? timeline.streams[index] : "stream " + std::to_string(stream);
}

DataSet lanes_of(const Timeline& timeline, int ranks, const std::set<int>& streams) {
  DataSet lanes{"lanes", {"rank", "stream"}, {}};
  for (int rank = 0; rank < ranks; ++rank) {
    for (const int stream : streams) {
      lanes.rows.push_back({static_cast<double>(rank), stream_name(timeline, stream)});
    }
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
  DataSet spans{"spans", {"rank", "stream", "op", "class", "start_ms", "end_ms", "moved_mb", "ahead"}, {}};
  if (timeline.spans.empty()) return {spans, {"lanes", {"rank", "stream"}, {}}};
  const std::set<int> streams = streams_in_use(timeline);
  const int ranks = shown_ranks(timeline, streams.size());
  const std::vector<Mark> marks = within_budget(marks_of(timeline, ranks), budget);
  double begin_us = std::numeric_limits<double>::max();
  for (const Mark& mark : marks) begin_us = std::min(begin_us, mark.start_us);
  for (const Mark& mark : marks) {
    spans.rows.push_back({static_cast<double>(mark.rank), stream_name(timeline, mark.stream), mark.op, mark.op_class,
                          (mark.start_us - begin_us) / 1e3, (mark.end_us - begin_us) / 1e3, mark.bytes / 1e6,
                          static_cast<double>(mark.ahead)});
  }
  return {spans, lanes_of(timeline, ranks, streams)};
}

}  // namespace shardsim
