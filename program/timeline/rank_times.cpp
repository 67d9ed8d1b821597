#include "program/timeline/rank_times.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "program/timeline/arrivals.h"
#include "program/timeline/iteration_window.h"
#include "program/timeline/named_times.h"
#include "program/timeline/timeline.h"

namespace shardsim {
namespace {

// Rounding of the times of a rank that fill a whole period.
constexpr double kRounding = 1e-9;

enum class SpanKind { compute, communication, host };

std::vector<SpanKind> kinds_of(const Timeline& timeline) {
  std::vector<SpanKind> kinds;
  for (const auto& op : timeline.ops) {
    const SpanKind other = is_host(op.op_class) ? SpanKind::host : SpanKind::compute;
    kinds.push_back(is_communication(op.op_class) ? SpanKind::communication : other);
  }
  return kinds;
}

struct PartEdge {
  double time_us = 0;
  bool ends = false;
  std::size_t part = 0;
};

// Walks over the parts of one rank's spans in time. Between two neighbouring events the sets of running parts do not
// change.
class RankSweep {
 public:
  // Adds to the charges of its rank's spans.
  RankSweep(const Timeline& timeline, const std::vector<SpanKind>& kinds, const Arrivals& arrivals,
            std::span<const WindowPart> parts, SpanCharges& charges)
      : spans_(timeline.spans), kinds_(kinds), arrivals_(arrivals), parts_(parts), charges_(charges) {}

  RankTimes run() {
    double now = 0;
    for (const PartEdge& event : events()) {
      charge(now, event.time_us);
      now = event.time_us;
      apply(event);
    }
    return times_;
  }

 private:
  // Least of the collective that the rank waits for longest; ties: lower stream, then lower op.
  using Order = std::tuple<double, int, int, std::size_t>;
  Order order_of(std::size_t part) const {
    const Span& span = spans_[parts_[part].span];
    return {-(span.end_us + parts_[part].shift_us), span.stream, span.op, part};
  }

  std::vector<PartEdge> events() const {
    std::vector<PartEdge> events;
    events.reserve(2 * parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].end_us <= parts_[i].start_us) continue;
      events.push_back({parts_[i].start_us, false, i});
      events.push_back({parts_[i].end_us, true, i});
    }
    std::sort(events.begin(), events.end(), [](const PartEdge& a, const PartEdge& b) { return a.time_us < b.time_us; });
    return events;
  }

  void charge(double from_us, double until_us) {
    const double us = until_us - from_us;
    if (compute_ > 0) times_.compute_ms += us * kMsPerUs;
    if (running_.empty()) return;
    times_.comm_ms += us * kMsPerUs;
    if (compute_ > 0) return;
    const WindowPart& part = parts_[std::get<std::size_t>(running_.front())];
    times_.exposed_ms += us * kMsPerUs;
    charges_.exposed_us[part.span] += us;
    const double waiting = std::clamp(arrivals_.begin_us(part.span) + part.shift_us - from_us, 0.0, us);
    times_.waiting_ms += waiting * kMsPerUs;
    charges_.waiting_us[part.span] += waiting;
  }

  void apply(const PartEdge& event) {
    const SpanKind kind = kinds_[static_cast<std::size_t>(spans_[parts_[event.part].span].op)];
    if (kind == SpanKind::host) return;
    if (kind == SpanKind::compute) {
      compute_ += event.ends ? -1 : 1;
    } else {
      const auto place = std::ranges::lower_bound(running_, order_of(event.part));
      if (event.ends) {
        running_.erase(place);
      } else {
        running_.insert(place, order_of(event.part));
      }
    }
  }

  const std::vector<Span>& spans_;
  const std::vector<SpanKind>& kinds_;
  const Arrivals& arrivals_;
  std::span<const WindowPart> parts_;
  SpanCharges& charges_;
  std::vector<Order> running_;  // parts of collectives, rising: few run at a time
  int compute_ = 0;
  RankTimes times_;
};

// Parts of spans, rank after rank, those of a rank in the order in which they were.
class PartsByRank {
 public:
  PartsByRank(const Timeline& timeline, const std::vector<WindowPart>& parts)
      : end_(static_cast<std::size_t>(timeline.world_size) + 1, 0), parts_(parts.size()) {
    const auto rank_of = [&](const WindowPart& part) {
      return static_cast<std::size_t>(timeline.spans[part.span].rank);
    };
    for (const WindowPart& part : parts) ++end_.at(rank_of(part) + 1);
    std::partial_sum(end_.begin(), end_.end(), end_.begin());
    for (const WindowPart& part : parts) parts_[end_[rank_of(part)]++] = part;
  }
  std::span<const WindowPart> of(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    const std::size_t begin = index == 0 ? 0 : end_[index - 1];
    return {parts_.data() + begin, end_[index] - begin};
  }

 private:
  std::vector<std::size_t> end_;  // [rank] behind its last part
  std::vector<WindowPart> parts_;
};

// True when two ranks do the same at the same times and wait as long: a sweep of one tells the figures of both, to the
// bit. So it is on nodes that nothing tells apart, which are most of a large cluster.
bool alike(const Timeline& timeline, const Arrivals& arrivals, std::span<const WindowPart> a,
           std::span<const WindowPart> b) {
  const auto key = [&](const WindowPart& part) {
    const Span& span = timeline.spans[part.span];
    return std::tuple(part.start_us, part.end_us, part.shift_us, span.op, span.stream, span.end_us,
                      arrivals.begin_us(part.span));
  };
  return std::ranges::equal(a, b, {}, key, key);
}

// All spans, rank after rank; those of ranks that overlap themselves by the parts that one period holds of them. A rank
// that only runs ahead of others fills no more than a period; its spans need no cutting. Parts are made when a rank is
// asked for: all of them would be larger than the Timeline.
class AllParts {
 public:
  explicit AllParts(const Timeline& timeline)
      : timeline_(timeline), spans_(timeline), windows_(iteration_windows(timeline)) {
    const bool repeats = windows_.size() == 1 && windows_.front().repeats;
    if (repeats) extents_ = extents_of_ranks(timeline);
  }

  std::vector<WindowPart> of(int rank) const {
    const std::span<const std::uint32_t> own = spans_.of(rank);
    const bool cut = overlaps_itself(rank);
    std::vector<WindowPart> parts;
    parts.reserve(own.size());
    for (const std::uint32_t i : own) {
      const Span& span = timeline_.spans[i];
      if (cut) {
        add_copies(parts, span, i, windows_.front());
      } else {
        parts.push_back({i, span.start_us, span.end_us, 0, 0, false});
      }
    }
    return parts;
  }

 private:
  bool overlaps_itself(int rank) const {
    if (extents_.empty()) return false;
    const Extent& extent = extents_[static_cast<std::size_t>(rank)];
    return extent.last_us - extent.first_us > timeline_.iteration_ms * 1e3 * (1 + kRounding);
  }

  const Timeline& timeline_;
  const RankSpans spans_;
  const std::vector<IterationWindow> windows_;
  std::vector<Extent> extents_;  // [rank]; none where no window repeats
};

// [rank] The figures of these parts of spans (PartsByRank, AllParts); what they are charged goes to `charges`, which
// hold nothing yet for them.
template <typename Parts>
std::vector<RankTimes> sweep(const Timeline& timeline, const std::vector<SpanKind>& kinds, const Parts& by_rank,
                             const Arrivals& arrivals, SpanCharges& charges) {
  const int per_node = std::clamp(timeline.ranks_per_node, 1, std::max(1, timeline.world_size));
  std::vector<int> swept(static_cast<std::size_t>(per_node), -1);  // [GPU] the last one
  std::vector<decltype(by_rank.of(0))> parts_of_swept(swept.size());
  std::vector<RankTimes> ranks;
  ranks.reserve(static_cast<std::size_t>(timeline.world_size));
  for (int rank = 0; rank < timeline.world_size; ++rank) {
    auto own = by_rank.of(rank);
    if (own.empty()) {  // as most ranks are in each of many short windows
      ranks.emplace_back();
      continue;
    }
    int& like = swept[static_cast<std::size_t>(rank) % swept.size()];
    auto& others = parts_of_swept[static_cast<std::size_t>(rank) % swept.size()];
    if (like >= 0 && alike(timeline, arrivals, own, others)) {
      for (std::size_t i = 0; i < own.size(); ++i) charges.copy(others[i].span, own[i].span);
      ranks.push_back(ranks[static_cast<std::size_t>(like)]);
      continue;
    }
    RankSweep of_rank(timeline, kinds, arrivals, own, charges);
    ranks.push_back(of_rank.run());
    like = rank;
    others = std::move(own);
  }
  return ranks;
}

std::vector<RankTimes> per_iteration(std::vector<RankTimes> ranks, std::size_t iterations) {
  const auto kept = static_cast<double>(iterations);
  for (RankTimes& times : ranks) {
    times.compute_ms /= kept;
    times.comm_ms /= kept;
    times.exposed_ms /= kept;
    times.waiting_ms /= kept;
  }
  return ranks;
}

constexpr double kHostMsPerUs = 1e-3;
constexpr int kComputeStream = 0;

// The work of one rank's host and compute stream in the window.
struct HostOfRank {
  std::vector<WindowPart> launches, compute;  // by time
  std::set<double> launch_ends_us;            // on the clock of the spans
};

void put_in_order(std::vector<WindowPart>& parts) {
  std::ranges::sort(parts, {}, [](const WindowPart& part) { return part.start_us; });
}

// Microseconds of [from, until) in which a launch runs.
double launching_us(const std::vector<WindowPart>& launches, double from_us, double until_us) {
  const auto ends_before = [&](const WindowPart& part) { return part.end_us <= from_us; };
  double us = 0;
  for (auto part = std::ranges::partition_point(launches, ends_before);
       part != launches.end() && part->start_us < until_us; ++part)
    us += std::min(part->end_us, until_us) - std::max(part->start_us, from_us);
  return us;
}

HostShare times_of(HostOfRank& rank, const Timeline& timeline, double begin_us) {
  put_in_order(rank.launches);
  put_in_order(rank.compute);
  HostShare times;
  for (const WindowPart& part : rank.launches) times.busy_ms += (part.end_us - part.start_us) * kHostMsPerUs;
  double idle_since = begin_us;
  for (const WindowPart& part : rank.compute) {
    const bool launched_last = rank.launch_ends_us.contains(timeline.spans[part.span].start_us);
    if (launched_last && !part.continued && part.start_us > idle_since)
      times.waited_for_ms += launching_us(rank.launches, idle_since, part.start_us) * kHostMsPerUs;
    idle_since = std::max(idle_since, part.end_us);
  }
  return times;
}

}  // namespace

std::size_t kept_iterations(const Timeline& timeline) {
  std::set<int> seen;
  for (const Span& span : timeline.spans)
    if (seen.empty() || span.iteration != *seen.rbegin()) seen.insert(span.iteration);
  return std::max<std::size_t>(1, seen.size());
}

std::vector<RankTimes> rank_times(const Timeline& timeline) {
  SpanCharges charges(timeline);
  return charged_rank_times(timeline, Arrivals(timeline), charges);
}

std::vector<RankTimes> charged_rank_times(const Timeline& timeline, const Arrivals& arrivals, SpanCharges& charges) {
  return per_iteration(sweep(timeline, kinds_of(timeline), AllParts(timeline), arrivals, charges),
                       kept_iterations(timeline));
}

RankTimes mean_of(const std::vector<RankTimes>& ranks) {
  const auto count = static_cast<double>(ranks.size());
  RankTimes mean;
  for (const RankTimes& rank : ranks) {
    mean.compute_ms += rank.compute_ms / count;
    mean.comm_ms += rank.comm_ms / count;
    mean.exposed_ms += rank.exposed_ms / count;
    mean.waiting_ms += rank.waiting_ms / count;
  }
  return mean;
}

std::vector<std::vector<RankTimes>> window_rank_times(const Timeline& timeline,
                                                      const std::vector<IterationWindow>& windows) {
  const Arrivals arrivals(timeline);
  const std::vector<SpanKind> kinds = kinds_of(timeline);
  std::vector<std::vector<RankTimes>> figures;
  SpanCharges charges(timeline);
  for (const std::vector<WindowPart>& parts : parts_in(timeline, windows)) {
    figures.push_back(sweep(timeline, kinds, PartsByRank(timeline, parts), arrivals, charges));
    charges.forget(parts);
  }
  return figures;
}

std::vector<HostShare> host_times_of(const Timeline& timeline) {
  const auto is_launch = [&](int op) { return is_host(timeline.ops[static_cast<std::size_t>(op)].op_class); };
  if (std::ranges::none_of(timeline.ops, [](const auto& op) { return is_host(op.op_class); })) return {};
  const std::vector<IterationWindow> windows = iteration_windows(timeline);
  if (windows.empty()) return {};
  std::vector<HostOfRank> ranks(static_cast<std::size_t>(timeline.world_size));
  for (const Span& span : timeline.spans)
    if (is_launch(span.op)) ranks[static_cast<std::size_t>(span.rank)].launch_ends_us.insert(span.end_us);
  const std::vector<std::vector<WindowPart>> parts = parts_in(timeline, windows);
  for (const WindowPart& part : parts.front()) {
    const Span& span = timeline.spans[part.span];
    HostOfRank& rank = ranks[static_cast<std::size_t>(span.rank)];
    if (is_launch(span.op)) rank.launches.push_back(part);
    if (span.stream == kComputeStream && is_compute(timeline.ops[static_cast<std::size_t>(span.op)].op_class))
      rank.compute.push_back(part);
  }
  std::vector<HostShare> times;
  for (HostOfRank& rank : ranks) times.push_back(times_of(rank, timeline, windows.front().begin_us));
  return times;
}

}  // namespace shardsim
