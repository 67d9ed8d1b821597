#include "study/report/charts/timeline_path.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "program/timeline/iteration_window.h"
#include "study/report/charts/chart_data.h"
#include "study/report/unit_words.h"

namespace shardsim {
namespace {

constexpr std::size_t kLinksShown = 12;

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

}  // namespace

double timeline_zero_us(const Timeline& timeline) {
  const IterationWindow window = iteration_windows(timeline).back();
  double zero = window.begin_us;
  if (window.repeats) return zero;
  for (const Span& span : timeline.spans)
    if (span.iteration == window.iteration) zero = std::min(zero, span.start_us);
  return zero;
}

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

std::set<std::pair<int, int>> operations_on_path(const CaseResult& result) {
  std::set<std::pair<int, int>> operations;
  if (!result.traced) return operations;
  for (const TracedParts::Step& step : result.traced->path) operations.emplace(step.op, step.rank);
  return operations;
}

}  // namespace shardsim
