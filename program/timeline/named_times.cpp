#include "program/timeline/named_times.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

#include "program/timeline/arrivals.h"

namespace shardsim {
namespace {

// Sums over the spans of one name.
struct NameSums {
  struct OfRank {
    int calls = 0;
    std::int64_t bytes = 0;
    double span_us = 0;
  };
  OfRank most;            // of any rank
  std::size_t ranks = 0;  // that have such spans
  double alone_us = 0, exposed_us = 0, waiting_us = 0;
  std::map<std::pair<int, int>, double> waited_us;  // by the last member's rank and what kept it
};

NamedTime::WaitedFor longest_wait(const NameSums& sums, const Timeline& timeline, double runs) {
  NamedTime::WaitedFor longest;
  for (const auto& [whom, us] : sums.waited_us) {
    const double ms = us * kMsPerUs / runs;
    const std::string before = whom.second < 0 ? "" : timeline.ops[static_cast<std::size_t>(whom.second)].name;
    if (ms > longest.ms) longest = {whom.first, before, ms, whom.second};
  }
  return longest;
}

NamedTime summary_of(const Timeline& timeline, std::size_t op, const NameSums& sums, std::size_t iterations) {
  NamedTime result;
  result.name = timeline.ops[op].name;
  result.op_class = timeline.ops[op].op_class;
  const NameSums::OfRank& most = sums.most;
  const auto kept = static_cast<double>(iterations);
  const double runs = kept * static_cast<double>(std::max<std::size_t>(1, sums.ranks));
  result.calls = static_cast<int>(std::lround(most.calls / kept));
  result.bytes_per_rank = most.bytes / static_cast<std::int64_t>(iterations);
  result.alone_ms = sums.alone_us * kMsPerUs / runs;
  result.span_ms = most.span_us * kMsPerUs / kept;
  result.exposed_ms = sums.exposed_us * kMsPerUs / runs;
  result.waiting_ms = sums.waiting_us * kMsPerUs / runs;
  result.waited_for = longest_wait(sums, timeline, runs);
  return result;
}

// For each op, the position of its name among the distinct names, in order of first appearance.
std::vector<std::size_t> name_indices(const Timeline& timeline, std::vector<std::size_t>& first_ops) {
  std::map<std::string_view, std::size_t> known;
  std::vector<std::size_t> result;
  for (std::size_t op = 0; op < timeline.ops.size(); ++op) {
    const auto [entry, fresh] = known.try_emplace(timeline.ops[op].name, first_ops.size());
    if (fresh) first_ops.push_back(op);
    result.push_back(entry->second);
  }
  return result;
}

// Adds the spans of one name after another. The sums of the ranks are kept for one name alone: of many names on many
// ranks most would be zeros.
class NameAdder {
 public:
  NameAdder(const Timeline& timeline, const Arrivals& arrivals, const SpanCharges& swept, bool with_whom)
      : timeline_(timeline),
        arrivals_(arrivals),
        swept_(swept),
        with_whom_(with_whom),
        by_rank_(static_cast<std::size_t>(timeline.world_size)) {}

  NameSums sums_of(std::span<const std::uint32_t> spans) {
    NameSums sums;
    for (const std::uint32_t i : spans) add(sums, i);
    for (const std::size_t rank : seen_) {
      NameSums::OfRank& of_rank = by_rank_[rank];
      sums.most.calls = std::max(sums.most.calls, of_rank.calls);
      sums.most.bytes = std::max(sums.most.bytes, of_rank.bytes);
      sums.most.span_us = std::max(sums.most.span_us, of_rank.span_us);
      of_rank = {};
    }
    sums.ranks = seen_.size();
    seen_.clear();
    return sums;
  }

 private:
  void add(NameSums& sums, std::size_t i) {
    const Span& span = timeline_.spans[i];
    NameSums::OfRank& of_rank = by_rank_[static_cast<std::size_t>(span.rank)];
    if (of_rank.calls++ == 0) seen_.push_back(static_cast<std::size_t>(span.rank));
    of_rank.bytes += span.bytes;
    of_rank.span_us += span.end_us - span.start_us;
    sums.alone_us += timeline_.ops[static_cast<std::size_t>(span.op)].alone_us;
    sums.exposed_us += swept_.exposed_us[i];
    sums.waiting_us += swept_.waiting_us[i];
    if (!with_whom_ || swept_.waiting_us[i] <= 0) return;
    const std::size_t last = arrivals_.last(i);
    const auto [kept, fresh] = waited_on_.try_emplace(last, -1);
    if (fresh) kept->second = arrivals_.op_waited_on(last);
    sums.waited_us[{timeline_.spans[last].rank, kept->second}] += swept_.waiting_us[i];
  }

  const Timeline& timeline_;
  const Arrivals& arrivals_;
  const SpanCharges& swept_;
  bool with_whom_;
  std::vector<NameSums::OfRank> by_rank_;
  std::vector<std::size_t> seen_;                     // ranks that have spans of the name
  std::unordered_map<std::size_t, int> waited_on_{};  // what kept the last member of a collective
};

// The spans of each name, in the order in which they are; no Timeline of which RankSpans are made has more than 2^32.
std::vector<std::vector<std::uint32_t>> spans_by_name(const Timeline& timeline, const std::vector<std::size_t>& name_of,
                                                      std::size_t names) {
  std::vector<std::size_t> count(names, 0);
  for (const Span& span : timeline.spans) ++count[name_of[static_cast<std::size_t>(span.op)]];
  std::vector<std::vector<std::uint32_t>> spans(names);
  for (std::size_t name = 0; name < names; ++name) spans[name].reserve(count[name]);
  for (std::size_t i = 0; i < timeline.spans.size(); ++i)
    spans[name_of[static_cast<std::size_t>(timeline.spans[i].op)]].push_back(static_cast<std::uint32_t>(i));
  return spans;
}

TimelineTimes times_of(const Timeline& timeline, bool with_whom) {
  const Arrivals arrivals(timeline);
  SpanCharges swept(timeline);
  std::vector<RankTimes> ranks = charged_rank_times(timeline, arrivals, swept);
  std::vector<std::size_t> first_ops;
  const std::vector<std::size_t> name_of = name_indices(timeline, first_ops);
  const std::size_t iterations = kept_iterations(timeline);
  NameAdder adder(timeline, arrivals, swept, with_whom);
  TimelineTimes result{{}, std::move(ranks)};
  for (const std::vector<std::uint32_t>& spans : spans_by_name(timeline, name_of, first_ops.size()))
    result.names.push_back(summary_of(timeline, first_ops[result.names.size()], adder.sums_of(spans), iterations));
  return result;
}

}  // namespace

bool NamedTime::waits_tellingly(double iteration_ms) const {
  constexpr double kShare = 0.01;
  return waited_for.rank >= 0 && waiting_ms >= kShare * std::max(iteration_ms, exposed_ms);
}

std::vector<NamedTime> named_times(const Timeline& timeline) {
  return times_of(timeline, true).names;
}

std::vector<NamedTime> named_times_alone(const Timeline& timeline) {
  return times_of(timeline, false).names;
}

TimelineTimes all_times(const Timeline& timeline) {
  return times_of(timeline, true);
}

}  // namespace shardsim
