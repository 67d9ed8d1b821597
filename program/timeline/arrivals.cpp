#include "program/timeline/arrivals.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <tuple>

#include "program/timeline/timeline_figures.h"

namespace shardsim {
namespace {

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

struct Member {
  std::size_t span = 0;
  int op = 0, iteration = 0, rank = 0;
  int set = 0;
  int turn = 0;  // the how manieth of that op, iteration and rank
};

// By rising `key`, 0 or more; those of one key in the order in which they are.
void put_in_order(std::vector<Member>& members, int Member::*key) {
  if (members.empty()) return;
  const int most = (*std::ranges::max_element(members, {}, key)).*key;
  std::vector<std::size_t> place(static_cast<std::size_t>(most) + 2, 0);
  for (const Member& member : members) ++place[static_cast<std::size_t>(member.*key) + 1];
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<Member> ordered(members.size());
  for (const Member& member : members) ordered[place[static_cast<std::size_t>(member.*key)]++] = member;
  members.swap(ordered);
}

std::vector<Member> arriving_members(const Timeline& timeline) {
  const auto sets = sets_of_ranks(timeline);
  std::vector<const std::vector<int>*> set_of(timeline.ops.size(), nullptr);
  for (std::size_t op = 0; op < timeline.ops.size(); ++op) {
    const auto known = sets.find(timeline.ops[op].group);
    if (known != sets.end() && is_communication(timeline.ops[op].op_class)) set_of[op] = &known->second;
  }
  std::vector<Member> members;
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    const Span& span = timeline.spans[i];
    const std::vector<int>* of_op = set_of[static_cast<std::size_t>(span.op)];
    const int set = of_op == nullptr ? -1 : (*of_op)[static_cast<std::size_t>(span.rank)];
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

Arrivals::Arrivals(const Timeline& timeline) : timeline_(timeline) {
  last_.resize(timeline.spans.size());
  std::iota(last_.begin(), last_.end(), std::size_t{0});
  first_us_.resize(timeline.spans.size());
  match_members();
}

void Arrivals::match_members() {
  std::vector<Member> members = arriving_members(timeline_);
  const auto call = [](const Member& member) { return std::tie(member.op, member.iteration, member.set, member.turn); };
  const auto earlier = [&](const Member& a, const Member& b) { return call(a) < call(b); };
  if (!std::is_sorted(members.begin(), members.end(), earlier)) {  // as a rule, of one iteration and turn each
    put_in_order(members, &Member::set);
    put_in_order(members, &Member::op);
  }
  if (!std::is_sorted(members.begin(), members.end(), earlier))
    std::stable_sort(members.begin(), members.end(), earlier);
  for (std::size_t begin = 0, end = 0; begin < members.size(); begin = end) {
    std::size_t last = members[begin].span;
    double first_us = timeline_.spans[last].start_us;
    for (; end < members.size() && call(members[end]) == call(members[begin]); ++end) {
      const double start_us = timeline_.spans[members[end].span].start_us;
      if (start_us > timeline_.spans[last].start_us) last = members[end].span;
      first_us = std::min(first_us, start_us);
    }
    first_us_[last] = first_us;
    for (std::size_t i = begin; i < end; ++i) {
      const bool waits = timeline_.spans[members[i].span].start_us < timeline_.spans[last].start_us;
      if (waits) last_[members[i].span] = last;
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

int Arrivals::op_waited_on(std::size_t last) const {
  const Span& span = timeline_.spans[last];
  const Ends& ends = ends_of(span.rank);
  auto after = ended_by(ends, span.start_us, {span.end_us, span.start_us, span.op});
  if (after == ends.begin()) return -1;
  int op = std::prev(after)->op;
  double longest_us = 0;
  for (int step = 0; step < kMostSteps && after != ends.begin() && std::prev(after)->end_us > first_us_[last]; ++step) {
    const Ended& ended = *std::prev(after);
    const double us = std::min(ended.end_us, span.start_us) - std::max(ended.start_us, first_us_[last]);
    if (us > longest_us) {
      longest_us = us;
      op = ended.op;
    }
    after = std::min(std::prev(after), ended_by(ends, ended.start_us, ended));
  }
  return op;
}

}  // namespace shardsim
