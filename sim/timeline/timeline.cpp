#include "sim/timeline/timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "sim/timeline/timeline_fields.h"

namespace shardsim {
namespace {

constexpr double kMsPerUs = 1e-3;

// The kinds of docs/formats.md, section "Command line"; everything else is compute.
constexpr std::array<std::string_view, 7> kCollectiveKinds = {
    "all_gather", "all_reduce", "all_to_all", "all_to_all_v", "broadcast", "reduce_scatter", "send_recv"};

std::size_t kept_iterations(const Timeline& timeline) {
  std::set<int> seen;
  for (const Span& span : timeline.spans) seen.insert(span.iteration);
  return std::max<std::size_t>(1, seen.size());
}

std::vector<bool> communication_ops(const Timeline& timeline) {
  std::vector<bool> result;
  for (const auto& op : timeline.ops) result.push_back(is_communication(op.op_class));
  return result;
}

struct SpanEdge {
  double time_us = 0;
  bool ends = false;
  std::size_t span = 0;
};

// Walks over one rank's spans in time. Between two neighbouring events the sets of running spans do not change.
class RankSweep {
 public:
  // `exposed_us` has one entry per span of the Timeline; the sweep fills those of its rank.
  RankSweep(const Timeline& timeline, const std::vector<bool>& communication, std::vector<double>& exposed_us)
      : spans_(timeline.spans), communication_(communication), exposed_us_(exposed_us), running_({spans_}) {}

  RankTimes run(const std::vector<std::size_t>& of_rank) {
    double now = 0;
    for (const SpanEdge& event : events_of(of_rank)) {
      charge(event.time_us - now);
      now = event.time_us;
      apply(event);
    }
    return times_;
  }

 private:
  // The collective that the rank waits for longest comes first; ties: lower stream, then lower op.
  struct EndsLast {
    const std::vector<Span>& spans;
    bool operator()(std::size_t a, std::size_t b) const { return key(a) < key(b); }
    std::tuple<double, int, int, std::size_t> key(std::size_t i) const {
      return {-spans[i].end_us, spans[i].stream, spans[i].op, i};
    }
  };

  std::vector<SpanEdge> events_of(const std::vector<std::size_t>& of_rank) const {
    std::vector<SpanEdge> events;
    for (std::size_t i : of_rank) {
      if (spans_[i].end_us <= spans_[i].start_us) continue;
      events.push_back({spans_[i].start_us, false, i});
      events.push_back({spans_[i].end_us, true, i});
    }
    std::sort(events.begin(), events.end(), [](const SpanEdge& a, const SpanEdge& b) { return a.time_us < b.time_us; });
    return events;
  }

  void charge(double us) {
    if (compute_ > 0) times_.compute_ms += us * kMsPerUs;
    if (running_.empty()) return;
    times_.comm_ms += us * kMsPerUs;
    if (compute_ > 0) return;
    times_.exposed_ms += us * kMsPerUs;
    exposed_us_[*running_.begin()] += us;
  }

  void apply(const SpanEdge& event) {
    const bool collective = communication_[static_cast<std::size_t>(spans_[event.span].op)];
    if (!collective) {
      compute_ += event.ends ? -1 : 1;
    } else if (event.ends) {
      running_.erase(event.span);
    } else {
      running_.insert(event.span);
    }
  }

  const std::vector<Span>& spans_;
  const std::vector<bool>& communication_;
  std::vector<double>& exposed_us_;
  std::set<std::size_t, EndsLast> running_;
  int compute_ = 0;
  RankTimes times_;
};

struct SweptTimeline {
  std::vector<RankTimes> ranks;    // sums over the kept iterations
  std::vector<double> exposed_us;  // [span]
};

SweptTimeline sweep(const Timeline& timeline) {
  std::vector<std::vector<std::size_t>> of_rank(static_cast<std::size_t>(timeline.world_size));
  for (std::size_t i = 0; i < timeline.spans.size(); ++i)
    of_rank.at(static_cast<std::size_t>(timeline.spans[i].rank)).push_back(i);
  SweptTimeline swept{{}, std::vector<double>(timeline.spans.size(), 0.0)};
  const std::vector<bool> communication = communication_ops(timeline);
  for (const auto& spans : of_rank)
    swept.ranks.push_back(RankSweep(timeline, communication, swept.exposed_us).run(spans));
  return swept;
}

// Sums over the spans of one name.
struct NameSums {
  struct OfRank {
    int calls = 0;
    std::int64_t bytes = 0;
    double span_us = 0;
  };
  std::map<int, OfRank> by_rank;
  double alone_us = 0, exposed_us = 0;
};

NamedTime summary_of(const Timeline::OpInfo& op, const NameSums& sums, std::size_t iterations) {
  NamedTime result{op.name, op.op_class};
  NameSums::OfRank most;
  for (const auto& [rank, of_rank] : sums.by_rank) {
    most.calls = std::max(most.calls, of_rank.calls);
    most.bytes = std::max(most.bytes, of_rank.bytes);
    most.span_us = std::max(most.span_us, of_rank.span_us);
  }
  const auto kept = static_cast<double>(iterations);
  const double runs = kept * static_cast<double>(std::max<std::size_t>(1, sums.by_rank.size()));
  result.calls = static_cast<int>(std::lround(most.calls / kept));
  result.bytes_per_rank = most.bytes / static_cast<std::int64_t>(iterations);
  result.alone_ms = sums.alone_us * kMsPerUs / runs;
  result.span_ms = most.span_us * kMsPerUs / kept;
  result.exposed_ms = sums.exposed_us * kMsPerUs / runs;
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

std::string fault_of(const Timeline& timeline, const Span& span) {
  if (!std::isfinite(span.start_us) || !std::isfinite(span.end_us)) return "has a time that is not finite";
  if (span.end_us < span.start_us)
    return fmt::format("ends at {} us, before its start at {} us", span.end_us, span.start_us);
  if (span.rank < 0 || span.rank >= timeline.world_size)
    return fmt::format("is on rank {}, outside the world of {} ranks", span.rank, timeline.world_size);
  if (span.op < 0 || static_cast<std::size_t>(span.op) >= timeline.ops.size())
    return fmt::format("names op {}, outside the table of {} ops", span.op, timeline.ops.size());
  if (span.stream < 0 || static_cast<std::size_t>(span.stream) >= timeline.streams.size())
    return fmt::format("names stream {}, outside the table of {} streams", span.stream, timeline.streams.size());
  if (span.bytes < 0) return fmt::format("moves {} bytes", span.bytes);
  return "";
}

std::string fault_of_columns(const Timeline& timeline) {
  const auto ranks = static_cast<std::size_t>(timeline.world_size);
  const auto wrong = [](std::size_t size, std::size_t due) { return size != 0 && size != due; };
  const std::vector<std::pair<const char*, std::size_t>> columns = {{"hbm_bytes", timeline.hbm_bytes.size()},
                                                                    {"bytes_out", timeline.bytes_out.size()},
                                                                    {"bytes_in", timeline.bytes_in.size()}};
  for (const auto& [name, size] : columns)
    if (wrong(size, ranks)) return fmt::format("column rank/{} has {} values for {} ranks", name, size, ranks);
  if (wrong(timeline.flow.size(), ranks * ranks))
    return fmt::format("flow/bytes has {} values, not {} x {}", timeline.flow.size(), ranks, ranks);
  return "";
}

std::string fault_of_groups(const Timeline& timeline) {
  for (const auto& [name, sets] : timeline.groups)
    for (const auto& members : sets)
      for (int rank : members)
        if (rank < 0 || rank >= timeline.world_size)
          return fmt::format("group {} holds rank {}, outside the world of {} ranks", name, rank, timeline.world_size);
  return "";
}

}  // namespace

bool is_communication(std::string_view op_class) {
  return std::find(kCollectiveKinds.begin(), kCollectiveKinds.end(), op_class) != kCollectiveKinds.end();
}

std::vector<int> group_of(const Timeline& timeline, const Timeline::OpInfo& op, int rank) {
  const auto sets = timeline.groups.find(op.group);
  if (sets == timeline.groups.end()) return {};
  for (const auto& members : sets->second)
    if (std::find(members.begin(), members.end(), rank) != members.end()) return members;
  return {};
}

std::vector<RankTimes> rank_times(const Timeline& timeline) {
  std::vector<RankTimes> result = sweep(timeline).ranks;
  const auto kept = static_cast<double>(kept_iterations(timeline));
  for (RankTimes& times : result) {
    times.compute_ms /= kept;
    times.comm_ms /= kept;
    times.exposed_ms /= kept;
  }
  return result;
}

std::vector<NamedTime> named_times(const Timeline& timeline) {
  const SweptTimeline swept = sweep(timeline);
  std::vector<std::size_t> first_ops;
  const std::vector<std::size_t> name_of = name_indices(timeline, first_ops);
  std::vector<NameSums> sums(first_ops.size());
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    const Span& span = timeline.spans[i];
    const auto op = static_cast<std::size_t>(span.op);
    NameSums& of_name = sums[name_of[op]];
    NameSums::OfRank& of_rank = of_name.by_rank[span.rank];
    ++of_rank.calls;
    of_rank.bytes += span.bytes;
    of_rank.span_us += span.end_us - span.start_us;
    of_name.alone_us += timeline.ops[op].alone_us;
    of_name.exposed_us += swept.exposed_us[i];
  }
  std::vector<NamedTime> result;
  for (std::size_t name = 0; name < first_ops.size(); ++name)
    result.push_back(summary_of(timeline.ops[first_ops[name]], sums[name], kept_iterations(timeline)));
  return result;
}

void sort_spans(Timeline& timeline) {
  const auto key = [](const Span& span) { return std::tie(span.start_us, span.rank, span.stream, span.op); };
  std::stable_sort(timeline.spans.begin(), timeline.spans.end(),
                   [&](const Span& a, const Span& b) { return key(a) < key(b); });
}

std::string timeline_fault(const Timeline& timeline) {
  if (timeline.world_size < 0) return fmt::format("the world has {} ranks", timeline.world_size);
  if (std::string wrong = fault_of_columns(timeline); !wrong.empty()) return wrong;
  if (std::string wrong = fault_of_groups(timeline); !wrong.empty()) return wrong;
  for (std::size_t i = 0; i < timeline.spans.size(); ++i)
    if (std::string wrong = fault_of(timeline, timeline.spans[i]); !wrong.empty())
      return fmt::format("span {} {}", i, wrong);
  return "";
}

std::string to_bytes(const Timeline& timeline) {
  return packed(timeline);
}

Timeline timeline_from_bytes(std::string_view bytes) {
  Timeline timeline = unpacked<Timeline>(bytes);
  if (const std::string wrong = timeline_fault(timeline); !wrong.empty()) {
    throw run_error("a worker process sent a broken timeline: " + wrong, "Run again");
  }
  return timeline;
}

}  // namespace shardsim
