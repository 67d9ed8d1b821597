#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "program/timeline/iteration_window.h"
#include "study/report/charts/chart_data.h"
#include "study/report/documents/comparison_document.h"

namespace shardsim {
namespace {

// Marks per rank and side: an SVG of more is slow, and finer ones cannot be seen.
constexpr std::size_t kMarks = 700;
constexpr double kPixels = 880;

// One rank of one side in one iteration.
struct Strip {
  const Timeline& timeline;
  int rank;
  IterationWindow window;
  std::string row;
};

// The iteration whose length is the median one.
IterationWindow typical_window(const Timeline& timeline) {
  std::vector<IterationWindow> windows = iteration_windows(timeline);
  std::stable_sort(windows.begin(), windows.end(),
                   [](const IterationWindow& a, const IterationWindow& b) { return a.ms() < b.ms(); });
  return windows[(windows.size() - 1) / 2];
}

// Ranks that are as busy as the first but for noise are not worth a second picture.
int busiest_rank(const TimelineComparison& comparison) {
  if (comparison.ranks.empty()) return 0;
  const ComparedRank* busiest = &comparison.ranks.front();
  for (const ComparedRank& rank : comparison.ranks)
    if (rank.busy.observed_ms.median > 1.001 * busiest->busy.observed_ms.median) busiest = &rank;
  return busiest->rank;
}

// All that runs in the window: with iterations that overlap, parts of several are there.
std::vector<Span> spans_of(const Strip& strip) {
  std::vector<Span> spans;
  const auto parts = parts_in(strip.timeline, {strip.window});
  for (const WindowPart& part : parts.front()) {
    spans.push_back(strip.timeline.spans[part.span]);
    spans.back().start_us = part.start_us;
    spans.back().end_us = part.end_us;
  }
  std::erase_if(spans, [&](const Span& span) { return span.rank != strip.rank; });
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start_us < b.start_us; });
  return spans;
}

// Neighbours of one operation on a stream that the eye cannot tell apart become one; then the shortest go.
std::vector<Span> drawn(const std::vector<Span>& spans, double blur_us) {
  std::vector<Span> result;
  std::map<int, std::size_t> last;  // by stream
  for (const Span& span : spans) {
    const auto known = last.find(span.stream);
    const bool joins = known != last.end() && result[known->second].op == span.op &&
                       span.start_us - result[known->second].end_us < blur_us;
    if (joins) {
      result[known->second].end_us = std::max(result[known->second].end_us, span.end_us);
      result[known->second].bytes += span.bytes;
    } else {
      last[span.stream] = result.size();
      result.push_back(span);
    }
  }
  if (result.size() <= kMarks) return result;
  std::stable_sort(result.begin(), result.end(),
                   [](const Span& a, const Span& b) { return a.end_us - a.start_us > b.end_us - b.start_us; });
  result.resize(kMarks);
  return result;
}

void add_strip(DataSet& marks, DataSet& lanes, const Strip& strip) {
  const std::vector<Span> spans = drawn(spans_of(strip), (strip.window.end_us - strip.window.begin_us) / kPixels);
  const auto stream_name = [&](int stream) { return strip.timeline.streams[static_cast<std::size_t>(stream)]; };
  std::map<int, double> lane_of;
  for (const Span& span : spans) lane_of.try_emplace(span.stream, 0);
  for (auto& [stream, lane] : lane_of) {
    lane = static_cast<double>(lanes.rows.size());
    lanes.rows.push_back({lane, strip.row, stream_name(stream)});
  }
  const auto since = [&](double us) {
    return (std::clamp(us, strip.window.begin_us, strip.window.end_us) - strip.window.begin_us) / 1e3;
  };
  for (const Span& span : spans) {
    const Timeline::OpInfo& op = strip.timeline.ops[static_cast<std::size_t>(span.op)];
    marks.rows.push_back({lane_of[span.stream], strip.row, stream_name(span.stream), op.name,
                          display_class(op.name, op.op_class), since(span.start_us), since(span.end_us),
                          static_cast<double>(span.bytes) / 1e6});
  }
}

Chart timeline_chart(const ComparedCase& item, const std::string& id) {
  const IterationWindow ours = typical_window(item.predicted), theirs = typical_window(item.observed);
  std::vector<int> ranks;
  if (!item.comparison.ranks.empty()) ranks.push_back(item.comparison.ranks.front().rank);
  const int busiest = busiest_rank(item.comparison);
  if (std::find(ranks.begin(), ranks.end(), busiest) == ranks.end()) ranks.push_back(busiest);
  DataSet marks{"spans", {"lane", "row", "stream", "op", "class", "start_ms", "end_ms", "moved_mb"}, {}};
  DataSet lanes{"lanes", {"lane", "row", "stream"}, {}};
  for (const int rank : ranks) {
    const auto row = [&](const std::string& side) { return fmt::format("rank {} {}", rank, side); };
    add_strip(marks, lanes, {item.predicted, rank, ours, row(item.comparison.first)});
    add_strip(marks, lanes, {item.observed, rank, theirs, row(item.comparison.second)});
  }
  return {id + "-timelines",
          "compared_timelines",
          fmt::format("One iteration, {} above {}", item.comparison.first, item.comparison.second),
          fmt::format(
              "Rank {}{}.{} Each lane is a stream; time starts at the end of the previous iteration.", ranks.front(),
              ranks.size() > 1
                  ? fmt::format(", and rank {}, the busiest of the {} timeline", busiest, item.comparison.second)
                  : "",
              item.comparison.iterations > 1
                  ? fmt::format(" It is the iteration of median length among {}.", item.comparison.second)
                  : ""),
          false,
          {marks, lanes}};
}

std::vector<DataSet::Cell> point(const std::string& name, const std::string& colour, const ComparedTime& time,
                                 const std::string& side) {
  const auto error = [&](double observed) { return time.error_against(observed).value_or(0); };
  return {name,
          colour,
          time.predicted_ms,
          time.observed_ms.median,
          time.observed_ms.min,
          time.observed_ms.max,
          error(time.observed_ms.median),
          error(time.observed_ms.max),
          error(time.observed_ms.min > 0 ? time.observed_ms.min : time.observed_ms.median),
          side};
}

// Logarithmic axes have no place for zeros.
DataSet points_of(const TimelineComparison& comparison) {
  DataSet points{"points",
                 {"operation", "class", comparison.first + "_ms", comparison.second + "_ms", "least_ms", "most_ms",
                  "error_pct", "error_least_pct", "error_most_pct", "side"},
                 {}};
  points.rows.push_back(point("iteration", "iteration", comparison.iteration, "iteration"));
  for (const ComparedOperation& row : comparison.operations)
    if (row.time.predicted_ms > 0 && row.time.observed_ms.min > 0)
      points.rows.push_back(point(row.name, display_class(row.name, row.op_class), row.time, "operation"));
  return points;
}

// `figure`: what is told of a time in percent of the other one.
DataSet sides_of_points(const TimelineComparison& sides) {
  const std::string figure = sides.is_usual() ? fmt::format("error of the {} time (%)", sides.first)
                                              : fmt::format("{} time, beside the {} (%)", sides.first, sides.second);
  return {"sides", {"first", "second", "figure"}, {{sides.first, sides.second, figure}}};
}

}  // namespace

std::vector<Chart> comparison_charts(const ComparedCase& item, const std::string& id) {
  const TimelineComparison& sides = item.comparison;
  const DataSet points = points_of(sides), names = sides_of_points(sides);
  return {
      timeline_chart(item, id),
      {id + "-scatter",
       "compared_operations",
       capital(sides.first) + " against " + sides.second,
       fmt::format("Each mark is an operation, or the iteration (grey); the bar is the range over the iterations. On "
                   "the dashed line {}; the band is 10 % in both directions.",
                   sides.is_usual() ? "the prediction is exact" : "both are equal"),
       false,
       {names, points}},
      {id + "-errors",
       "operation_errors",
       sides.is_usual() ? "How far off is each operation?" : "How much does each operation differ?",
       fmt::format("{} the median iteration; the bar shows what it is beside the shortest and the longest one.",
                   sides.is_usual() ? "Error beside" : "Difference from"),
       false,
       {names, points}}};
}

}  // namespace shardsim
