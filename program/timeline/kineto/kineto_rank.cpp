// Finds what the kernels of one rank of a trace mean.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "program/timeline/kineto/kineto_names.h"
#include "program/timeline/kineto/kineto_trace.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

// No GPU runs half of its kernels in less: the shortest take a microsecond, which clocks of old profilers round to one.
constexpr double kShortestKernelUs = 0.1;

void check_unit(const KinetoTrace& trace) {
  std::vector<double> durations;
  for (const KinetoTrace::Kernel& kernel : trace.kernels)
    if (!kernel.copies && kernel.duration_us > 0) durations.push_back(kernel.duration_us);
  if (durations.empty()) return;
  const auto middle = durations.begin() + std::ssize(durations) / 2;
  std::nth_element(durations.begin(), middle, durations.end());
  if (*middle >= kShortestKernelUs) return;
  throw input_error(
      {trace.path},
      fmt::format("half of its GPU kernels take less than {:.2g} us, which no GPU does: its times are not "
                  "in microseconds",
                  *middle),
      "Give the trace as the profiler wrote it, whose 'ts' and 'dur' are in microseconds");
}

void check_world(const KinetoTrace& trace) {
  if (!trace.world_size || *trace.world_size < 1) return;
  if (*trace.world_size > kMostRanks)
    throw input_error({trace.path},
                      fmt::format("a world of {} ranks, and at most {} are simulated", *trace.world_size, kMostRanks),
                      "Correct world_size in its distributedInfo");
  if (trace.rank && *trace.rank >= *trace.world_size)
    throw input_error({trace.path}, fmt::format("rank {} of a world of {} ranks", *trace.rank, *trace.world_size),
                      "Correct rank or world_size in its distributedInfo; ranks count from 0");
}

}  // namespace

void check_one_rank(const KinetoTrace& trace) {
  if (trace.of_timeline()) return;
  constexpr const char* kRemedy = "Give one file for each rank";
  std::set<std::int64_t> devices, processes;
  for (const KinetoTrace::Kernel& kernel : trace.kernels)
    if (!kernel.copies) devices.insert(kernel.device);
  if (devices.size() > 1)
    throw input_error({trace.path}, fmt::format("kernels of {} devices or processes are in one file", devices.size()),
                      kRemedy);
  for (const auto& [correlation, launch] : trace.launches) processes.insert(launch.process);
  if (processes.size() > 1)
    throw input_error({trace.path}, fmt::format("kernels are launched by {} processes in one file", processes.size()),
                      kRemedy);
  check_unit(trace);
  check_world(trace);
}

KinetoRank::KinetoRank(const KinetoTrace& trace) : trace_(trace), steps_(trace.steps), comms_(trace.comms) {
  const auto by_start = [](const auto& a, const auto& b) { return a.start_us < b.start_us; };
  std::stable_sort(steps_.begin(), steps_.end(), by_start);
  std::stable_sort(comms_.begin(), comms_.end(), by_start);
  for (const KinetoTrace::Comms& comms : comms_)
    if (comms.external_id >= 0) by_id_.try_emplace(comms.external_id, &comms);
  for (const KinetoTrace::Range& range : trace.ranges) ranges_[range.kind].push_back(range);
  for (auto& [kind, of_kind] : ranges_) std::stable_sort(of_kind.begin(), of_kind.end(), by_start);
  join_operators();
}

std::string KinetoRank::class_of(const KinetoTrace::Kernel& kernel) const {
  using Kind = KinetoTrace::Range::Kind;
  if (kernel.copies) return "dense";
  const std::string& named = meaning(kernel).op_class;
  if (named != "dense") return named;
  if (within(kernel, Kind::update)) return "update";
  if (within(kernel, Kind::lookup)) return "lookup";
  // Only sparse gradients are added to parameters by index.
  return within(kernel, Kind::indexed_add) && within(kernel, Kind::optimizer) ? "update" : "dense";
}

const KinetoRank::Meaning& KinetoRank::meaning(const KinetoTrace::Kernel& kernel) const {
  const auto [entry, fresh] = meanings_.try_emplace(kernel.name.data());
  if (fresh) entry->second = {compute_class(kernel.name), is_communication_kernel(kernel.name)};
  return entry->second;
}

// Annotations of a backward pass or an optimizer say as much as operators do.
void KinetoRank::join_operators() {
  auto spans_of = trace_.operators;
  for (const KinetoTrace::Range& range : trace_.ranges)
    spans_of[range.thread].emplace_back(range.start_us, range.end_us);
  for (auto& [thread, spans] : spans_of) {
    std::ranges::sort(spans);
    std::vector<std::pair<double, double>>& joined = operators_[thread];
    for (const auto& span : spans) {
      if (joined.empty() || span.first > joined.back().second) {
        joined.push_back(span);
      } else {
        joined.back().second = std::max(joined.back().second, span.second);
      }
    }
  }
}

bool KinetoRank::has_operator(const KinetoTrace::Kernel& kernel) const {
  const auto found = operators_.find(thread_of(kernel));
  if (found == operators_.end()) return false;
  const double us = launch_us(kernel);
  const auto after = std::ranges::upper_bound(found->second, us, {}, &std::pair<double, double>::first);
  return after != found->second.begin() && us <= std::prev(after)->second;
}

bool KinetoRank::within(const KinetoTrace::Kernel& kernel, KinetoTrace::Range::Kind kind) const {
  constexpr int kNested = 8;  // ranges of one kind are hardly deeper
  const auto found = ranges_.find(kind);
  if (found == ranges_.end()) return false;
  const double us = launch_us(kernel);
  const std::int64_t thread = thread_of(kernel);
  auto after = std::upper_bound(found->second.begin(), found->second.end(), us,
                                [](double at, const KinetoTrace::Range& range) { return at < range.start_us; });
  for (int looked = 0; after != found->second.begin() && looked < kNested; ++looked) {
    --after;
    if (us < after->end_us && (after->thread == thread || thread < 0)) return true;
  }
  return false;
}

std::int64_t KinetoRank::thread_of(const KinetoTrace::Kernel& kernel) const {
  const auto launch = trace_.launches.find(kernel.correlation);
  return launch == trace_.launches.end() ? -1 : launch->second.thread;
}

std::optional<KinetoTrace::Step> KinetoRank::step_of(const KinetoTrace::Kernel& kernel) const {
  if (steps_.empty()) return KinetoTrace::Step{};
  const double us = launch_us(kernel);
  auto after = std::upper_bound(steps_.begin(), steps_.end(), us,
                                [](double at, const KinetoTrace::Step& step) { return at < step.start_us; });
  if (after == steps_.begin()) return std::nullopt;
  --after;
  return us < after->end_us ? std::optional(*after) : std::nullopt;
}

TracedCollective KinetoRank::collective_of(const KinetoTrace::Kernel& kernel) const {
  if (kernel.collective != nullptr && kernel.collective->known()) return *kernel.collective;
  const auto known = by_id_.find(kernel.external_id);
  if (known != by_id_.end()) return known->second->collective;
  const auto launch = trace_.launches.find(kernel.correlation);
  if (launch == trace_.launches.end()) return {};
  const double us = launch->second.start_us;
  auto after = std::upper_bound(comms_.begin(), comms_.end(), us,
                                [](double at, const KinetoTrace::Comms& comms) { return at < comms.start_us; });
  // The innermost of those that nest begins last; more than a few in a row do not.
  for (int looked = 0; after != comms_.begin() && looked < 16; ++looked) {
    --after;
    if (after->thread == launch->second.thread && us <= after->end_us) return after->collective;
  }
  return {};
}

double KinetoRank::launch_us(const KinetoTrace::Kernel& kernel) const {
  const auto launch = trace_.launches.find(kernel.correlation);
  return launch == trace_.launches.end() ? kernel.start_us : launch->second.start_us;
}

}  // namespace shardsim
