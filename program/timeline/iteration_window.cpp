#include "program/timeline/iteration_window.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace shardsim {
namespace {

// Two iterations that are alike to 1e-6 count as steady, so ends that should meet may be a little further apart.
constexpr double kBarely = 1e-5;
// A Timeline whose spans stretch over more periods than any pipeline is deep is not a steady iteration.
constexpr double kMostPeriods = 16;
// Parts shorter than this share of a period come from rounding.
constexpr double kSliver = 1e-9;

double mean_ms(const std::vector<IterationWindow>& windows) {
  double sum = 0;
  for (const IterationWindow& window : windows) sum += window.ms();
  return windows.empty() ? 0 : sum / static_cast<double>(windows.size());
}

bool stretches(const Extent& extent, double period_us) {
  const double periods = (extent.last_us - extent.first_us) / period_us;
  return periods > 1 + kBarely && periods < kMostPeriods;
}

void widen(Extent& extent, const Span& span) {
  extent.first_us = std::min(extent.first_us, span.start_us);
  extent.last_us = std::max(extent.last_us, span.end_us);
}

}  // namespace

// From the span's own copy to that of the last iteration ahead.
void add_copies(std::vector<WindowPart>& parts, const Span& span, std::size_t index, const IterationWindow& window) {
  const double period = window.end_us - window.begin_us, sliver = kSliver * period;
  const bool instant = span.end_us - span.start_us <= sliver;
  for (int ahead = 0; span.start_us + ahead * period < window.end_us - (instant ? 0 : sliver); ++ahead) {
    const double shift = ahead * period, start = span.start_us + shift, end = span.end_us + shift;
    if (instant ? start < window.begin_us : end <= window.begin_us + sliver) continue;
    parts.push_back({index, std::max(start, window.begin_us), std::min(end, window.end_us), shift, ahead,
                     start < window.begin_us - sliver});
    if (instant) return;
  }
}

std::map<int, Extent> extents_by(const Timeline& timeline, int Span::*key) {
  std::map<int, Extent> extents;
  auto last = extents.end();  // neighbours often have the same key
  for (const Span& span : timeline.spans) {
    if (last == extents.end() || last->first != span.*key)
      last = extents.try_emplace(span.*key, Extent{span.start_us, span.end_us}).first;
    widen(last->second, span);
  }
  return extents;
}

std::vector<Extent> extents_of_ranks(const Timeline& timeline) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<Extent> extents(static_cast<std::size_t>(timeline.world_size), {kNever, -kNever});
  for (const Span& span : timeline.spans) widen(extents[static_cast<std::size_t>(span.rank)], span);
  return extents;
}

std::vector<IterationWindow> iteration_windows(const Timeline& timeline) {
  const std::map<int, Extent> extents = extents_by(timeline, &Span::iteration);
  const double period_us = timeline.iteration_ms * 1e3;
  if (extents.size() == 1 && period_us > 0 && stretches(extents.begin()->second, period_us)) {
    const double end = extents.begin()->second.last_us;
    return {{extents.begin()->first, end - period_us, end, true}};
  }
  std::vector<IterationWindow> joined, apart;
  bool overlap = false;
  for (const auto& [iteration, extent] : extents) {
    const double before = joined.empty() ? extent.first_us : joined.back().end_us;
    overlap = overlap || extent.first_us < before;
    joined.push_back({iteration, before, std::max(before, extent.last_us)});
    apart.push_back({iteration, extent.first_us, extent.last_us});
  }
  const auto off = [&](const std::vector<IterationWindow>& windows) {
    return std::abs(mean_ms(windows) - timeline.iteration_ms);
  };
  return timeline.iteration_ms > 0 && !overlap && off(apart) < off(joined) ? apart : joined;
}

std::vector<std::vector<WindowPart>> parts_in(const Timeline& timeline, const std::vector<IterationWindow>& windows) {
  std::vector<std::vector<WindowPart>> parts(windows.size());
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    const Span& span = timeline.spans[i];
    auto window = std::upper_bound(windows.begin(), windows.end(), span.start_us,
                                   [](double us, const IterationWindow& next) { return us < next.end_us; });
    if (windows.size() == 1 && windows.front().repeats) {
      add_copies(parts.front(), span, i, windows.front());
      continue;
    }
    for (; window != windows.end() && window->begin_us < span.end_us; ++window)
      parts[static_cast<std::size_t>(window - windows.begin())].push_back(
          {i, std::max(span.start_us, window->begin_us), std::min(span.end_us, window->end_us), 0,
           span.iteration - window->iteration, span.start_us < window->begin_us});
  }
  return parts;
}

}  // namespace shardsim
