#include "program/timeline/host_waits.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "program/timeline/iteration_window.h"
#include "program/timeline/named_times.h"

namespace shardsim {
namespace {

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
