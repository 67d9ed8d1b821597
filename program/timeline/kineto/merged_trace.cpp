#include "program/timeline/kineto/merged_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "program/timeline/arrivals.h"
#include "program/timeline/iteration_window.h"
#include "program/timeline/kineto/kineto_names.h"
#include "program/timeline/timeline.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostSpans = 200'000;  // that are shown where nobody names ranks: some 100 MB with their arrows
constexpr std::size_t kMostListed = 1000;    // ranks that are listed as left out

// Processes: the path and the links stand above the ranks. Tracks have numbers of their own throughout the file, since
// Perfetto's reader names a track by its number alone (json_trace_parser_impl.cc, UpdateThreadName).
constexpr int kPathProcess = 1, kLinkProcess = 2, kFirstRankProcess = 100;
constexpr int kPathTrack = 1, kFirstLinkTrack = 1000;

std::int64_t ns_of(double us) {
  return std::llround(us * 1e3);
}

std::string us_of(std::int64_t ns) {
  const std::int64_t size = ns < 0 ? -ns : ns;
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

// A slice of a track, in whole nanoseconds of the trace.
struct Mark {
  std::int64_t start = 0, end = 0;
  int ahead = 0;
  bool continued = false;
  bool whole_end = true;  // it is not cut at the end of the window
};

// The iteration that a trace shows: all of a Timeline's spans, or of a steady iteration that overlaps its neighbours
// the window of one period.
class Shown {
 public:
  explicit Shown(const Timeline& timeline) : windows_(iteration_windows(timeline)) {
    repeats_ = timeline.steady && windows_.size() == 1 && windows_.front().repeats;
    begin_us_ = repeats_ ? windows_.front().begin_us : 0;
    if (windows_.empty()) return;
    last_begin_us_ = windows_.back().begin_us;
    last_end_us_ = windows_.back().end_us;
  }

  std::vector<Mark> marks(const Span& span) const {
    if (!repeats_) return {{ns_of(span.start_us), ns_of(span.end_us), 0, false, true}};
    std::vector<WindowPart> parts;
    add_copies(parts, span, 0, windows_.front());
    std::vector<Mark> marks;
    for (const WindowPart& part : parts) {
      const bool whole = std::abs(span.end_us + part.shift_us - part.end_us) < 1e-6;
      marks.push_back(
          {ns_of(part.start_us - begin_us_), ns_of(part.end_us - begin_us_), part.ahead, part.continued, whole});
    }
    return marks;
  }

  double begin_us() const { return begin_us_; }
  double last_begin_us() const { return last_begin_us_; }
  double last_end_us() const { return last_end_us_; }

 private:
  std::vector<IterationWindow> windows_;
  bool repeats_ = false;
  double begin_us_ = 0, last_begin_us_ = 0, last_end_us_ = 0;
};

std::string text_of_ranks(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t at = 0; at < ranks.size() && at < kMostListed;) {
    std::size_t last = at;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += text.empty() ? "" : ",";
    text += last == at ? fmt::format("{}", ranks[at]) : fmt::format("{}-{}", ranks[at], ranks[last]);
    at = last + 1;
  }
  return text;
}

class MergedWriter {
 public:
  MergedWriter(const Timeline& timeline, const TracedParts& parts, const std::vector<int>& asked)
      : timeline_(timeline), parts_(parts), shown_(timeline), arrivals_(timeline) {
    choose_ranks(asked);
    for (const TracedParts::Step& step : parts.path)
      if (step.op >= 0 && step.rank >= 0) on_path_.emplace(step.op, step.rank);
  }

  MergedTrace written(const std::string& case_name) {
    header(case_name);
    path();
    links();
    ranks();
    arrows();
    out_ += "\n]}\n";
    return {std::move(out_), std::move(left_out_)};
  }

 private:
  void choose_ranks(const std::vector<int>& asked) {
    std::vector<std::size_t> spans(static_cast<std::size_t>(timeline_.world_size));
    for (const Span& span : timeline_.spans) ++spans[static_cast<std::size_t>(span.rank)];
    std::set<int> wanted(asked.begin(), asked.end());
    std::size_t sum = 0;
    for (int rank = 0; asked.empty() && rank < timeline_.world_size; ++rank) {
      sum += spans[static_cast<std::size_t>(rank)];
      if (rank > 0 && sum > kMostSpans) break;
      wanted.insert(rank);
    }
    for (int rank = 0; rank < timeline_.world_size; ++rank)
      (wanted.contains(rank) ? ranks_ : left_out_).push_back(rank);
    is_shown_.resize(static_cast<std::size_t>(timeline_.world_size));
    for (const int rank : ranks_) is_shown_[static_cast<std::size_t>(rank)] = true;
  }

  void header(const std::string& case_name) {
    // A blank behind "rank":, by which readers find it; `mergedRanks` tells that this is more than that rank's.
    out_ += fmt::format(
        "{{\"schemaVersion\": 1,\n\"mergedRanks\": {},\n\"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {}, "
        "\"world_size\": {}}},\n",
        quoted(text_of_ranks(ranks_)), ranks_.empty() ? 0 : ranks_.front(), timeline_.world_size);
    out_ += fmt::format("\"otherData\": {{\"case\": {}, \"kind\": {}, \"ranks left out\": {}, \"links\": {}}},\n",
                        quoted(case_name), quoted(timeline_.kind), quoted(text_of_ranks(left_out_)),
                        quoted(fmt::format("the {} busiest of {}", parts_.links.size(), parts_.links_in_all)));
    out_ += fmt::format("\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": 0,\n\"traceName\": {},\n",
                        quoted(case_name + "/merged.pt.trace.json"));
    out_ += "\"traceEvents\": [";
  }

  void event(const std::string& fields) {
    out_ += first_ ? "\n{" : ",\n{";
    out_ += fields + "}";
    first_ = false;
  }

  void name_process(int process, int order, const std::string& name) {
    event(fmt::format(R"("ph": "M", "name": "process_name", "pid": {0}, "tid": 0, "ts": 0, "args": {{"name": {1}}})",
                      process, quoted(name)));
    event(fmt::format(
        R"("ph": "M", "name": "process_sort_index", "pid": {0}, "tid": 0, "ts": 0, "args": {{"sort_index": {1}}})",
        process, order));
  }

  void name_track(int process, int track, const std::string& name) {
    event(fmt::format(R"("ph": "M", "name": "thread_name", "pid": {}, "tid": {}, "ts": 0, "args": {{"name": {}}})",
                      process, track, quoted(name)));
  }

  void slice(int process, int track, std::int64_t start, std::int64_t end, const char* category,
             const std::string& name, const std::string& arguments) {
    event(fmt::format(
        R"("ph": "X", "cat": "{}", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}})", category,
        quoted(name), process, track, us_of(start), us_of(std::max<std::int64_t>(0, end - start)), arguments));
  }

  const std::string& op_name(int op) const { return timeline_.ops[static_cast<std::size_t>(op)].name; }

  // Steps of a path that covers several iterations are shown one behind the other, as means; those of one where they
  // are, and in a path that repeats itself the part before the iteration behind it, for there it runs again.
  void path() {
    if (parts_.path.empty()) return;
    name_process(kPathProcess, 0, "critical path");
    name_track(kPathProcess, kPathTrack, "what sets the time of the iteration");
    std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, const TracedParts::Step*>> steps;
    double next_us = shown_.last_begin_us();
    for (const TracedParts::Step& step : parts_.path) {
      double start = parts_.turns > 1 ? next_us : step.start_us;
      next_us += step.us;
      if (parts_.turns == 1 && parts_.period_us > 0) {
        const double begin = shown_.last_end_us() - parts_.period_us;
        start -= parts_.period_us * std::floor((start - begin) / parts_.period_us);
        const double over = start + step.us - shown_.last_end_us();
        if (over > 0) {
          steps.push_back({{ns_of(begin - shown_.begin_us()), ns_of(begin + over - shown_.begin_us())}, &step});
          steps.push_back({{ns_of(start - shown_.begin_us()), ns_of(shown_.last_end_us() - shown_.begin_us())}, &step});
          continue;
        }
      }
      steps.push_back({{ns_of(start - shown_.begin_us()), ns_of(start + step.us - shown_.begin_us())}, &step});
    }
    std::ranges::stable_sort(steps, {}, &decltype(steps)::value_type::first);
    std::int64_t free = std::numeric_limits<std::int64_t>::min();
    for (const auto& [time, step] : steps) {
      const std::int64_t start = std::max(free, time.first);  // neighbours may cross by a rounding
      if (time.second <= start) continue;
      free = time.second;
      std::string arguments = fmt::format(R"("kind": "{}")", step->kind);
      if (step->rank >= 0) arguments += fmt::format(R"(, "rank": {})", step->rank);
      if (!step->link.empty()) arguments += fmt::format(R"(, "link": {})", quoted(step->link));
      slice(kPathProcess, kPathTrack, start, time.second, "critical_path",
            step->op >= 0 ? op_name(step->op) : step->kind, arguments);
    }
  }

  // Transfers of several collectives on a link at once lie on tracks below each other, since slices of one track nest.
  void links() {
    if (parts_.uses.empty()) return;
    name_process(kLinkProcess, 1, fmt::format("links: the {} busiest of {}", parts_.links.size(), parts_.links_in_all));
    std::vector<std::vector<std::pair<Mark, const TracedParts::LinkUse*>>> of_links(parts_.links.size());
    for (const TracedParts::LinkUse& use : parts_.uses) {
      for (const Mark& mark : shown_.marks({use.start_us, use.end_us}))
        of_links[static_cast<std::size_t>(use.link)].emplace_back(mark, &use);
    }
    int track = kFirstLinkTrack;
    for (std::size_t link = 0; link < of_links.size(); ++link) {
      std::ranges::stable_sort(of_links[link], {}, [](const auto& each) { return each.first.start; });
      std::vector<std::int64_t> free;  // of each track of the link
      for (const auto& [mark, use] : of_links[link]) {
        auto lane = std::ranges::find_if(free, [start = mark.start](std::int64_t end) { return end <= start; });
        if (lane == free.end()) {
          free.push_back(0);
          lane = free.end() - 1;
          name_track(kLinkProcess, track + static_cast<int>(free.size()) - 1, parts_.links[link]);
        }
        *lane = mark.end;
        slice(kLinkProcess, track + static_cast<int>(lane - free.begin()), mark.start, mark.end, "link",
              op_name(use->op), fmt::format(R"("bytes": {:.0f}, "busy us": {:.3f})", use->bytes, use->busy_us));
      }
      track += static_cast<int>(free.size());
    }
    first_rank_track_ = std::max(first_rank_track_, track);
  }

  int process_of(int rank) const { return kFirstRankProcess + rank; }
  int track_of(int rank, int stream) const {
    return first_rank_track_ + rank * static_cast<int>(timeline_.streams.size()) + stream;
  }

  void ranks() {
    std::set<std::pair<int, int>> used;  // rank and stream
    std::set<int> of_host;               // streams
    for (const Span& span : timeline_.spans) {
      used.emplace(span.rank, span.stream);
      if (is_host(timeline_.ops[static_cast<std::size_t>(span.op)].op_class)) of_host.insert(span.stream);
    }
    const int node = std::max(1, timeline_.ranks_per_node);
    for (const int rank : ranks_) {
      name_process(process_of(rank), 2 + rank, fmt::format("rank {}: node {}, GPU {}", rank, rank / node, rank % node));
      for (std::size_t stream = 0; stream < timeline_.streams.size(); ++stream) {
        const int number = static_cast<int>(stream);
        if (!used.contains({rank, number})) continue;
        name_track(process_of(rank), track_of(rank, number),
                   (of_host.contains(number) ? "host: " : "") + timeline_.streams[stream]);
      }
    }
    std::map<int, std::int64_t> free;  // by track: neighbours in a window may cross by a rounding
    std::vector<std::pair<Mark, std::size_t>> marks;
    for (std::size_t at = 0; at < timeline_.spans.size(); ++at) {
      if (!is_shown(timeline_.spans[at].rank)) continue;
      for (const Mark& mark : shown_.marks(timeline_.spans[at])) marks.emplace_back(mark, at);
    }
    std::ranges::stable_sort(marks, {}, [](const auto& each) { return each.first.start; });
    for (auto& [mark, at] : marks) {
      const Span& span = timeline_.spans[at];
      std::int64_t& until = free.try_emplace(track_of(span.rank, span.stream), mark.start).first->second;
      mark.start = std::max(mark.start, until);
      mark.end = until = std::max(mark.start, mark.end);
      work(mark, span, at);
      marks_.emplace(std::pair{at, mark.ahead}, mark);
    }
  }

  bool is_shown(int rank) const { return is_shown_[static_cast<std::size_t>(rank)]; }

  void work(const Mark& mark, const Span& span, std::size_t at) {
    const Timeline::OpInfo& op = timeline_.ops[static_cast<std::size_t>(span.op)];
    std::string arguments = fmt::format(R"("class": {}, "iteration": {})", quoted(op.op_class), span.iteration);
    if (is_communication(op.op_class)) {
      const Span& last = timeline_.spans[arrivals_.last(at)];
      arguments += fmt::format(R"(, "bytes": {}, "kernel": {})", span.bytes, quoted(kernel_name(op)));
      if (last.rank != span.rank && last.start_us > span.start_us)
        arguments +=
            fmt::format(R"(, "waits for rank": {}, "waits us": {:.3f})", last.rank, last.start_us - span.start_us);
    }
    if (on_path_.contains({span.op, span.rank})) arguments += R"(, "critical path": 1)";
    if (mark.ahead != 0) arguments += fmt::format(R"(, "iterations ahead": {})", mark.ahead);
    if (mark.continued) arguments += R"(, "continued": 1)";
    slice(process_of(span.rank), track_of(span.rank, span.stream), mark.start, mark.end,
          is_host(op.op_class)            ? "host"
          : is_communication(op.op_class) ? "collective"
                                          : "compute",
          op.name, arguments);
  }

  // The copy of a span that belongs to the iteration so many after the window's, where it has a length in the trace.
  const Mark* mark_of(std::size_t span, int ahead) const {
    const auto found = marks_.find({span, ahead});
    return found == marks_.end() || found->second.end <= found->second.start ? nullptr : &found->second;
  }

  // An end binds to the slice that is open on its track, so a start lies within its slice, and so does an end.
  void arrow(const char* name, const Span& from, std::int64_t from_ns, const Span& to, std::int64_t to_ns) {
    ++arrows_;
    event(fmt::format(R"("ph": "s", "cat": "{0}", "name": "{0}", "id": {1}, "pid": {2}, "tid": {3}, "ts": {4})", name,
                      arrows_, process_of(from.rank), track_of(from.rank, from.stream), us_of(from_ns)));
    event(fmt::format(
        R"("ph": "f", "bp": "e", "cat": "{0}", "name": "{0}", "id": {1}, "pid": {2}, "tid": {3}, "ts": {4})", name,
        arrows_, process_of(to.rank), track_of(to.rank, to.stream), us_of(to_ns)));
  }

  void arrows() {
    std::map<std::tuple<int, int, int>, std::size_t> at;  // rank, operation and iteration
    for (std::size_t span = 0; span < timeline_.spans.size(); ++span) {
      const Span& each = timeline_.spans[span];
      if (is_shown(each.rank)) at.try_emplace({each.rank, each.op, each.iteration}, span);
    }
    for (const auto& [key, mark] : marks_) arrow_of_arrival(key.first, key.second, mark);
    for (const TracedParts::Wait& wait : parts_.waits) {
      for (const int rank : ranks_) {
        for (auto next = at.lower_bound({rank, wait.waits, 0});
             next != at.end() && std::get<0>(next->first) == rank && std::get<1>(next->first) == wait.waits; ++next) {
          const auto sender = at.find({rank, wait.sends, std::get<2>(next->first)});
          if (sender != at.end()) arrow_of_wait(sender->second, next->second);
        }
      }
    }
  }

  // From the member that arrives last to one that has waited for it, at that moment.
  void arrow_of_arrival(std::size_t span, int ahead, const Mark& mark) {
    const std::size_t last = arrivals_.last(span);
    const Span &from = timeline_.spans[last], &to = timeline_.spans[span];
    if (last == span || from.rank == to.rank || !is_shown(from.rank) || from.start_us <= to.start_us) return;
    const Mark* const sends = mark_of(last, ahead);
    if (sends == nullptr || sends->continued || mark.continued) return;
    if (sends->start < mark.start || sends->start >= mark.end) return;
    arrow("arrives last", from, sends->start, to, sends->start);
  }

  void arrow_of_wait(std::size_t sends, std::size_t waits) {
    const Span &from = timeline_.spans[sends], &to = timeline_.spans[waits];
    if (from.stream == to.stream) return;
    for (int ahead = -1; ahead <= 2; ++ahead) {
      const Mark *const sent = mark_of(sends, ahead), *const waiting = mark_of(waits, ahead);
      if (sent == nullptr || waiting == nullptr || !sent->whole_end || waiting->continued) continue;
      if (waiting->start >= sent->end) arrow("waits for", from, sent->end - 1, to, waiting->start);
    }
  }

  const Timeline& timeline_;
  const TracedParts& parts_;
  Shown shown_;
  Arrivals arrivals_;
  std::vector<int> ranks_, left_out_;
  std::vector<bool> is_shown_;                         // [rank]
  std::set<std::pair<int, int>> on_path_;              // operation and rank
  std::map<std::pair<std::size_t, int>, Mark> marks_;  // by span and how many iterations ahead
  int first_rank_track_ = 100'000;
  std::size_t arrows_ = 0;
  std::string out_;
  bool first_ = true;
};

}  // namespace

MergedTrace merged_trace(const Timeline& timeline, const TracedParts& parts, const std::vector<int>& ranks,
                         const std::string& case_name) {
  return MergedWriter(timeline, parts, ranks).written(case_name);
}

}  // namespace shardsim
