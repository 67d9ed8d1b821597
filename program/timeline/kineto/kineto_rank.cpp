// Finds what the kernels of one rank of a trace mean.

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "program/timeline/kineto/kineto_names.h"
#include "program/timeline/kineto/kineto_trace.h"

namespace shardsim {

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
