#include "validate/comparison/iteration_windows.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace shardsim {
namespace {

struct Extent {
  double first_us = 0, last_us = 0;
};

std::map<int, Extent> extents_of(const Timeline& timeline) {
  std::map<int, Extent> extents;
  for (const Span& span : timeline.spans) {
    const auto [entry, fresh] = extents.try_emplace(span.iteration, Extent{span.start_us, span.end_us});
    if (fresh) continue;
    entry->second.first_us = std::min(entry->second.first_us, span.start_us);
    entry->second.last_us = std::max(entry->second.last_us, span.end_us);
  }
  return extents;
}

double mean_ms(const std::vector<IterationWindow>& windows) {
  double sum = 0;
  for (const IterationWindow& window : windows) sum += window.ms();
  return windows.empty() ? 0 : sum / static_cast<double>(windows.size());
}

// A Timeline like this one, but for its spans.
Timeline without_spans(const Timeline& timeline) {
  Timeline bare;
  bare.world_size = timeline.world_size;
  bare.ops = timeline.ops;
  return bare;
}

}  // namespace

std::vector<IterationWindow> iteration_windows(const Timeline& timeline) {
  std::vector<IterationWindow> joined, apart;
  bool overlap = false;
  for (const auto& [iteration, extent] : extents_of(timeline)) {
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

std::vector<std::vector<RankTimes>> window_rank_times(const Timeline& timeline,
                                                      const std::vector<IterationWindow>& windows) {
  std::vector<Timeline> parts(windows.size(), without_spans(timeline));
  for (const Span& span : timeline.spans) {
    auto window = std::upper_bound(windows.begin(), windows.end(), span.start_us,
                                   [](double us, const IterationWindow& next) { return us < next.end_us; });
    for (; window != windows.end() && window->begin_us < span.end_us; ++window) {
      Span cut = span;
      cut.start_us = std::max(span.start_us, window->begin_us);
      cut.end_us = std::min(span.end_us, window->end_us);
      cut.iteration = 0;
      if (cut.end_us > cut.start_us) parts[static_cast<std::size_t>(window - windows.begin())].spans.push_back(cut);
    }
  }
  std::vector<std::vector<RankTimes>> figures;
  for (const Timeline& part : parts) figures.push_back(rank_times(part));
  return figures;
}

}  // namespace shardsim
