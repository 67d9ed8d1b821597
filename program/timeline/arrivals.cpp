#include "program/timeline/arrivals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "program/timeline/named_times.h"

namespace shardsim {
namespace {

// Sorts by rising `key`, a member that is 0 or more and not far above the number of items; those of one key stay in
// their order. For long lists whose keys are numbers of ranks, streams and operations: no item is compared.
template <typename Item>
void put_in_order(std::vector<Item>& items, int Item::*key) {
  if (items.empty()) return;
  const int most = (*std::ranges::max_element(items, {}, key)).*key;
  std::vector<std::size_t> place(static_cast<std::size_t>(most) + 2, 0);
  for (const Item& item : items) ++place[static_cast<std::size_t>(item.*key) + 1];
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<Item> ordered(items.size());
  for (const Item& item : items) ordered[place[static_cast<std::size_t>(item.*key)]++] = item;
  items.swap(ordered);
}

constexpr int kMostCopies = 16;   // of an iteration, before it
constexpr int kMostSteps = 4096;  // back from an arrival
constexpr double kClose = 2e-6;   // of an iteration: twice what counts as steady

// [group][rank] the position of the rank's set, -1 where the rank is in none.
std::map<std::string, std::vector<int>> sets_of_ranks(const Timeline& timeline) {
  std::map<std::string, std::vector<int>> result;
  for (const auto& [name, sets] : timeline.groups) {
    std::vector<int>& set_of = result[name];
    set_of.assign(static_cast<std::size_t>(timeline.world_size), -1);
    for (std::size_t set = 0; set < sets.size(); ++set)
      for (const int rank : sets[set]) set_of[static_cast<std::size_t>(rank)] = static_cast<int>(set);
  }
  return result;
}

// The rank sets that the collectives of a Timeline meet in.
class MeetingSets {
 public:
  explicit MeetingSets(const Timeline& timeline)
      : sets_(sets_of_ranks(timeline)), set_of_(timeline.ops.size(), nullptr), first_(timeline.ops.size() + 1, 0) {
    for (std::size_t op = 0; op < timeline.ops.size(); ++op) {
      const auto known = sets_.find(timeline.ops[op].group);
      const bool meets = known != sets_.end() && is_communication(timeline.ops[op].op_class);
      if (meets) set_of_[op] = &known->second;
      first_[op + 1] = first_[op] + (meets ? timeline.groups.at(timeline.ops[op].group).size() : 0);
    }
  }
  MeetingSets(const MeetingSets&) = delete;
  MeetingSets& operator=(const MeetingSets&) = delete;

  int of(const Span& span) const {  // -1: it meets nobody
    const std::vector<int>* of_op = set_of_[static_cast<std::size_t>(span.op)];
    return of_op == nullptr ? -1 : (*of_op)[static_cast<std::size_t>(span.rank)];
  }
  // The number of a set of an operation among those of all.
  std::size_t number(int op, int set) const {
    return first_[static_cast<std::size_t>(op)] + static_cast<std::size_t>(set);
  }
  std::size_t count() const { return first_.back(); }

 private:
  std::map<std::string, std::vector<int>> sets_;
  std::vector<const std::vector<int>*> set_of_;  // [op]
  std::vector<std::size_t> first_;               // [op]
};

// Where every rank calls every operation once, in one iteration: the spans of the last and of the first member of each
// set of each operation. Nothing where there are several iterations, or a rank calls one more often.
class SingleCalls {
 public:
  static std::optional<SingleCalls> of(const Timeline& timeline, const MeetingSets& sets) {
    SingleCalls calls(sets.count());
    std::vector<bool> seen(timeline.ops.size() * static_cast<std::size_t>(timeline.world_size), false);
    for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
      const Span& span = timeline.spans[i];
      const int set = sets.of(span);
      if (set < 0) continue;
      const std::size_t place = static_cast<std::size_t>(span.op) * static_cast<std::size_t>(timeline.world_size) +
                                static_cast<std::size_t>(span.rank);
      if (seen[place] || span.iteration != timeline.spans.front().iteration) return std::nullopt;
      seen[place] = true;
      calls.add(timeline, sets.number(span.op, set), i);
    }
    return calls;
  }

  // As of Arrivals, [span].
  void tell(const Timeline& timeline, const MeetingSets& sets, std::vector<std::uint32_t>& last,
            std::unordered_map<std::size_t, std::uint32_t>& first) const {
    for (const Call& call : calls_)
      if (call.last != kNone) first[call.last] = static_cast<std::uint32_t>(call.first);
    for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
      const Span& span = timeline.spans[i];
      const int set = sets.of(span);
      if (set < 0) continue;
      const std::size_t of_call = calls_[sets.number(span.op, set)].last;
      if (span.start_us < timeline.spans[of_call].start_us) last[i] = static_cast<std::uint32_t>(of_call);
    }
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  struct Call {
    std::size_t last = kNone, first = kNone;
  };
  explicit SingleCalls(std::size_t count) : calls_(count) {}

  // If members arrive together, the one of the lowest rank counts as the last.
  void add(const Timeline& timeline, std::size_t number, std::size_t member) {
    Call& call = calls_[number];
    const Span& span = timeline.spans[member];
    if (call.last == kNone) {
      call = {member, member};
      return;
    }
    const Span& last = timeline.spans[call.last];
    if (span.start_us > last.start_us || (span.start_us == last.start_us && span.rank < last.rank)) call.last = member;
    if (span.start_us < timeline.spans[call.first].start_us) call.first = member;
  }

  std::vector<Call> calls_;  // [number of a set]
};

struct Member {
  std::size_t span = 0;
  int op = 0, iteration = 0, rank = 0;
  int set = 0;
  int turn = 0;  // the how manieth of that op, iteration and rank
};

std::vector<Member> arriving_members(const Timeline& timeline, const MeetingSets& sets) {
  std::vector<Member> members;
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    const Span& span = timeline.spans[i];
    const int set = sets.of(span);
    if (set >= 0) members.push_back({i, span.op, span.iteration, span.rank, set, 0});
  }
  const auto earlier = [&](const Member& a, const Member& b) {
    return std::tuple(a.op, a.iteration, a.rank, timeline.spans[a.span].start_us, a.span) <
           std::tuple(b.op, b.iteration, b.rank, timeline.spans[b.span].start_us, b.span);
  };
  put_in_order(members, &Member::rank);
  put_in_order(members, &Member::op);
  if (!std::is_sorted(members.begin(), members.end(), earlier)) std::sort(members.begin(), members.end(), earlier);
  for (std::size_t i = 1; i < members.size(); ++i) {
    const Member& before = members[i - 1];
    const bool same = std::tie(before.op, before.iteration, before.rank) ==
                      std::tie(members[i].op, members[i].iteration, members[i].rank);
    members[i].turn = same ? before.turn + 1 : 0;
  }
  return members;
}

}  // namespace

RankSpans::RankSpans(const Timeline& timeline)
    : begin_(static_cast<std::size_t>(timeline.world_size) + 1, 0), spans_(timeline.spans.size()) {
  if (!std::in_range<std::uint32_t>(spans_.size())) throw std::length_error("RankSpans: too many spans");
  for (const Span& span : timeline.spans) ++begin_[static_cast<std::size_t>(span.rank) + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t i = 0; i < spans_.size(); ++i)
    spans_[next[static_cast<std::size_t>(timeline.spans[i].rank)]++] = static_cast<std::uint32_t>(i);
}

Arrivals::Arrivals(const Timeline& timeline) : timeline_(timeline) {
  if (!std::in_range<std::uint32_t>(timeline.spans.size())) throw std::length_error("Arrivals: too many spans");
  last_.resize(timeline.spans.size());
  std::iota(last_.begin(), last_.end(), std::uint32_t{0});
  match_members();
}

void Arrivals::match_members() {
  const MeetingSets sets(timeline_);
  if (const std::optional<SingleCalls> calls = SingleCalls::of(timeline_, sets))
    return calls->tell(timeline_, sets, last_, first_);
  std::vector<Member> members = arriving_members(timeline_, sets);
  const auto call = [](const Member& member) { return std::tie(member.op, member.iteration, member.set, member.turn); };
  const auto earlier = [&](const Member& a, const Member& b) { return call(a) < call(b); };
  if (!std::is_sorted(members.begin(), members.end(), earlier)) {  // as a rule, of one iteration and turn each
    put_in_order(members, &Member::set);
    put_in_order(members, &Member::op);
  }
  if (!std::is_sorted(members.begin(), members.end(), earlier))
    std::stable_sort(members.begin(), members.end(), earlier);
  for (std::size_t begin = 0, end = 0; begin < members.size(); begin = end) {
    std::size_t last = members[begin].span, first = last;
    for (; end < members.size() && call(members[end]) == call(members[begin]); ++end) {
      const double start_us = timeline_.spans[members[end].span].start_us;
      if (start_us > timeline_.spans[last].start_us) last = members[end].span;
      if (start_us < timeline_.spans[first].start_us) first = members[end].span;
    }
    first_[last] = static_cast<std::uint32_t>(first);
    for (std::size_t i = begin; i < end; ++i) {
      const bool waits = timeline_.spans[members[i].span].start_us < timeline_.spans[last].start_us;
      if (waits) last_[members[i].span] = static_cast<std::uint32_t>(last);
    }
  }
}

void Arrivals::find_period() const {
  std::set<int> iterations;
  double first = 0, last = 0;
  for (const Span& span : timeline_.spans) {
    if (iterations.empty() || span.iteration != *iterations.rbegin()) iterations.insert(span.iteration);
    first = std::min(first, span.start_us);
    last = std::max(last, span.end_us);
  }
  period_us_ = timeline_.iteration_ms * 1e3;
  const bool repeats = iterations.size() == 1 && period_us_ > 0;
  if (repeats) copies_ = static_cast<int>(std::clamp((last - first) / period_us_ + 1, 0.0, 1.0 * kMostCopies));
  close_us_ = kClose * std::max(period_us_, 0.0);
}

const Arrivals::Ends& Arrivals::ends_of(int rank) const {
  if (!of_ranks_) {
    find_period();
    of_ranks_.emplace(timeline_);
  }
  const auto [known, fresh] = ends_.try_emplace(rank);
  if (!fresh) return known->second;
  for (const std::uint32_t i : of_ranks_->of(rank)) {
    const Span& span = timeline_.spans[i];
    for (int copy = 0; copy <= copies_; ++copy)
      known->second.push_back({span.end_us - copy * period_us_, span.start_us - copy * period_us_, span.op});
  }
  std::ranges::sort(known->second);
  return known->second;
}

Arrivals::Ends::const_iterator Arrivals::ended_by(const Ends& ends, double us, const Ended& own) const {
  auto after = std::upper_bound(ends.begin(), ends.end(), us + close_us_,
                                [](double limit, const Ended& ended) { return limit < ended.end_us; });
  // A span so short that its own end is as close.
  if (after != ends.begin() && *std::prev(after) == own) after = std::lower_bound(ends.begin(), after, own);
  return after;
}

// True when both ranks are in one set of a collective: it begins for both at the same time.
bool Arrivals::meet(int op, int rank, int other) const {
  const auto& called = timeline_.ops[static_cast<std::size_t>(op)];
  if (!is_communication(called.op_class)) return false;
  if (!sets_) sets_ = sets_of_ranks(timeline_);
  const auto known = sets_->find(called.group);
  if (known == sets_->end()) return false;
  const int set = known->second[static_cast<std::size_t>(rank)];
  return set >= 0 && set == known->second[static_cast<std::size_t>(other)];
}

// The run of an op that ended nearest to that time; null where the rank ran it at no time near.
const Arrivals::Ended* Arrivals::nearest_run(const Ends& ends, int op, double end_us) {
  constexpr std::ptrdiff_t kNear = 512;  // runs of other ops between
  const auto middle = std::lower_bound(ends.begin(), ends.end(), end_us,
                                       [](const Ended& ended, double us) { return ended.end_us < us; });
  const auto is_op = [&](const Ended& ended) { return ended.op == op; };
  const auto until = middle + std::min(kNear, ends.end() - middle);
  const auto from = std::make_reverse_iterator(middle - std::min(kNear, middle - ends.begin()));
  const auto behind = std::find_if(middle, until, is_op);
  const auto before = std::find_if(std::make_reverse_iterator(middle), from, is_op);
  if (before == from) return behind == until ? nullptr : &*behind;
  return behind == until || end_us - before->end_us < behind->end_us - end_us ? &*before : &*behind;
}

// How much longer a late member ran an op than the first member did; `met`: they began it together.
Arrivals::Excess Arrivals::excess_of(const Ended& late, int late_rank, int first_rank) const {
  const Ended* const first = nearest_run(ends_of(first_rank), late.op, late.end_us);
  if (first == nullptr) return {late.end_us - late.start_us, false};
  const bool overlap = first->start_us < late.end_us && late.start_us < first->end_us;
  if (overlap && meet(late.op, late_rank, first_rank)) return {late.end_us - first->end_us, true};
  return {late.end_us - late.start_us - (first->end_us - first->start_us), false};
}

int Arrivals::op_waited_on(std::size_t last) const {
  const Span& span = timeline_.spans[last];
  const Ends& ends = ends_of(span.rank);
  auto after = ended_by(ends, span.start_us, {span.end_us, span.start_us, span.op});
  if (after == ends.begin()) return -1;
  const auto known = first_.find(last);
  const Span* const first = known == first_.end() ? nullptr : &timeline_.spans[known->second];
  const double first_us = first == nullptr ? 0 : first->start_us;
  int longest = std::prev(after)->op, latest = -1;
  double longest_us = 0, latest_us = close_us_;
  double unexplained_us = first == nullptr ? 0 : span.start_us - first_us;
  for (int step = 0; step < kMostSteps && after != ends.begin(); ++step) {
    const Ended& ended = *std::prev(after);
    if (ended.end_us <= first_us && unexplained_us <= close_us_) break;
    const double us = std::min(ended.end_us, span.start_us) - std::max(ended.start_us, first_us);
    if (us > longest_us) {
      longest_us = us;
      longest = ended.op;
    }
    if (unexplained_us > close_us_) {
      const Excess excess = excess_of(ended, span.rank, first->rank);
      if (excess.us > latest_us) {
        latest_us = excess.us;
        latest = ended.op;
      }
      unexplained_us = excess.met ? 0 : unexplained_us - excess.us;
    }
    after = std::min(std::prev(after), ended_by(ends, ended.start_us, ended));
  }
  return latest >= 0 ? latest : longest;
}

}  // namespace shardsim
