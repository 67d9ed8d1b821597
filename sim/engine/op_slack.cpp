#include "sim/engine/op_slack.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

namespace shardsim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kMostSweeps = 64;
constexpr std::size_t kMostWays = 20'000;  // that are followed from one operation

using PastNode = PastSpans::Node;

// Where every iteration is like the next one, an operation that takes longer delays what waits for it there, too, and
// iterations get longer once that reaches the path, or the operation itself again: the slack is the least waiting on a
// way to either. First the ways to the path, of all operations at once: within an iteration whatever waits has a larger
// id, so one sweep from the last operation to the first settles it, and further sweeps carry it over the end of the
// iteration. Where iterations differ the end of this one counts.
class Slack {
 public:
  Slack(const PastRun& run, const PastSpans& spans, const CriticalPath& path)
      : run_(run),
        spans_(spans),
        repeats_(path.repeats),
        period_(path.seconds),
        last_(static_cast<int>(run.iterations.size()) - 1),
        ends_(spans.ranks() * spans.ops(), kNever),
        starts_(ends_),
        times_(ends_.size()),
        followers_(spans.ops()) {
    for (int rank = 0; rank < static_cast<int>(spans.ranks()); ++rank)
      for (int op = 0; op < static_cast<int>(spans.ops()); ++op)
        if (const PastSpans::Span* const of = spans.find({rank, op, last_}))
          times_[slot(rank, op)] = {of->start, of->end};
    for (const Op& op : run.program.ops) {
      for (const int id : op.after) followers_[static_cast<std::size_t>(id)].push_back({op.id, false});
      for (const int id : op.after_previous) followers_[static_cast<std::size_t>(id)].push_back({op.id, true});
    }
    if (repeats_) {
      hold(path);
      hold_streams();
    } else {
      hold_end();
    }
  }

  std::vector<OpSlack> of_ops() {
    for (int sweeps = 0; sweeps < kMostSweeps && sweep() && repeats_; ++sweeps) continue;
    std::vector<OpSlack> slack(spans_.ops(), {-1, -1});
    for (int op = 0; op < static_cast<int>(spans_.ops()); ++op) {
      double least = kNever;
      for (int rank = 0; rank < static_cast<int>(spans_.ranks()); ++rank) {
        if (!time(rank, op).ran() || ends_[slot(rank, op)] >= least) continue;
        least = ends_[slot(rank, op)];
        slack[static_cast<std::size_t>(op)] = {least, spans_.rank_number(rank)};
      }
      if (repeats_ && least > 0) {
        double& of_op = slack[static_cast<std::size_t>(op)].seconds;
        of_op = std::min(of_op, until_itself(op, least));
      }
    }
    return slack;
  }

 private:
  struct Follower {
    int op = 0;
    bool next_iteration = false;
  };

  // In the last iteration; ends before it starts where it did not run.
  struct Time {
    double start = 1, end = 0;
    bool ran() const { return start <= end; }
  };

  // Operation after operation, as sweeps go.
  std::size_t slot(int rank, int op) const {
    return static_cast<std::size_t>(op) * spans_.ranks() + static_cast<std::size_t>(rank);
  }
  const Time& time(int rank, int op) const { return times_[slot(rank, op)]; }
  // The place of an operation among what was reached; among equally far ones that of the lower rank comes first.
  std::size_t place(int rank, int op) const {
    return static_cast<std::size_t>(rank) * spans_.ops() + static_cast<std::size_t>(op);
  }

  void hold(const CriticalPath& path) {
    std::vector<int> position(static_cast<std::size_t>(run_.cluster.world_size()), -1);
    for (int rank = 0; rank < static_cast<int>(spans_.ranks()); ++rank)
      position[static_cast<std::size_t>(spans_.rank_number(rank))] = rank;
    for (const PathStep& step : path.steps)
      if (step.op >= 0) ends_[slot(position[static_cast<std::size_t>(step.rank)], step.op)] = 0;
  }

  // A stream that works all the time bounds the iteration by itself.
  void hold_streams() {
    const auto ranks = static_cast<int>(spans_.ranks());
    std::vector<double> idle(run_.program.streams.size() * spans_.ranks(), period_);  // [stream][rank]
    const auto on_stream = [&](const Op& op) { return &idle[static_cast<std::size_t>(op.stream) * spans_.ranks()]; };
    for (const Op& op : run_.program.ops) {
      double* const of = on_stream(op);
      for (int rank = 0; rank < ranks; ++rank) of[rank] -= busy(rank, op.id);
    }
    for (const Op& op : run_.program.ops) {
      const double* const of = on_stream(op);
      double* const ends = &ends_[slot(0, op.id)];
      for (int rank = 0; rank < ranks; ++rank) ends[rank] = std::min(ends[rank], std::max(of[rank], 0.0));
    }
  }

  double busy(int rank, int op) const {
    const Time& of = time(rank, op);
    if (!of.ran()) return 0;
    const PastSpans::Call call = spans_.call_of(rank, op);
    return of.end - (call.number < 0 ? of.start : spans_.begin(call, op, last_));
  }

  void hold_end() {
    const double end = run_.iterations.back()->ended;
    for (int rank = 0; rank < static_cast<int>(spans_.ranks()); ++rank) {
      for (int op = 0; op < static_cast<int>(spans_.ops()); ++op)
        if (const Time& of = time(rank, op); of.ran()) ends_[slot(rank, op)] = end - of.end;
    }
  }

  bool sweep() {
    bool changed = false;
    for (int op = static_cast<int>(spans_.ops()) - 1; op >= 0; --op) {
      for (int rank = 0; rank < static_cast<int>(spans_.ranks()); ++rank) {
        const Time& of = time(rank, op);
        if (!of.ran()) continue;
        const double slack = std::min(ends_[slot(rank, op)], until_followers(rank, op, of.end));
        changed = changed || slack < ends_[slot(rank, op)];
        ends_[slot(rank, op)] = slack;
      }
      carry_to_starts(op);
    }
    return changed;
  }

  // A way that is as far as it could be made, or the end of one operation on one rank; or all members of a collective.
  struct Reached {
    double waiting = 0;
    std::size_t place = 0;
    bool operator>(const Reached& other) const {
      return waiting != other.waiting ? waiting > other.waiting : place > other.place;
    }
  };

  // The least waiting on a way from an operation to itself in a later iteration, on any of its ranks; `enough` where it
  // is more. Ways that are too many to follow are taken to be as short as those that were followed.
  double until_itself(int op, double enough) {
    forget_ways();
    enough_ = enough;
    for (int rank = 0; rank < static_cast<int>(spans_.ranks()); ++rank)
      if (const Time& of = time(rank, op); of.ran()) follow(rank, op, of.end, 0);
    for (std::size_t steps = 0; !ways_.empty() && ways_.top().waiting < enough; ++steps) {
      const auto [waiting, from] = ways_.top();
      if (steps > kMostWays) return waiting;
      ways_.pop();
      if (waiting > reached_[from]) continue;
      const std::size_t at = from % ends_.size();
      const int rank = static_cast<int>(at / spans_.ops()), reached = static_cast<int>(at % spans_.ops());
      if (reached == op) return waiting;
      if (from < ends_.size()) {
        follow(rank, reached, time(rank, reached).end, waiting);
        continue;
      }
      for (const int member : *spans_.call_of(rank, reached).members) reach(place(member, reached), waiting);
    }
    return enough;
  }

  // Only what was reached: a way from one operation sees few of the others.
  void forget_ways() {
    reached_.resize(2 * ends_.size(), kNever);
    for (const std::size_t at : touched_) reached_[at] = kNever;
    touched_.clear();
    ways_ = {};
  }

  void reach(std::size_t at, double waiting) {
    if (waiting >= std::min(reached_[at], enough_)) return;
    if (reached_[at] == kNever) touched_.push_back(at);
    reached_[at] = waiting;
    ways_.push({waiting, at});
  }

  // To all that waits for the operation there.
  void follow(int rank, int op, double end, double waiting) {
    const auto go = [&](int follower, bool next_iteration) {
      const Time& of = time(rank, follower);
      if (!of.ran()) return;
      const double waits = std::max(of.start + (next_iteration ? period_ : 0) - end, 0.0) + waiting;
      const PastSpans::Call call = spans_.call_of(rank, follower);
      if (call.number < 0) return reach(place(rank, follower), waits);
      const double begin = spans_.begin(call, follower, last_);
      reach(ends_.size() + place(call.members->front(), follower), waits + begin - of.start);
    };
    for (const Follower& each : followers_[static_cast<std::size_t>(op)]) go(each.op, each.next_iteration);
    const PastNode next = spans_.next_on_stream({rank, op, last_});
    go(next.op, next.iteration > last_);
  }

  double until_followers(int rank, int op, double end) const {
    double least = kNever;
    const auto wait = [&](int follower, bool next_iteration) {
      const Time& of = time(rank, follower);
      if (!of.ran() || (next_iteration && !repeats_)) return;
      const double waits = of.start + (next_iteration ? period_ : 0) - end;
      least = std::min(least, std::max(waits, 0.0) + starts_[slot(rank, follower)]);
    };
    for (const Follower& each : followers_[static_cast<std::size_t>(op)]) wait(each.op, each.next_iteration);
    const PastNode next = spans_.next_on_stream({rank, op, last_});
    wait(next.op, next.iteration > last_);
    return least;
  }

  // A delay of the start delays the end; that of a member of a collective, once it is the last, every member's.
  void carry_to_starts(int op) {
    std::vector<double> least;  // [call] NaN until its first member is seen
    const auto ranks = static_cast<int>(spans_.ranks());
    for (int rank = 0; rank < ranks; ++rank) {
      starts_[slot(rank, op)] = ends_[slot(rank, op)];
      const PastSpans::Call call = spans_.call_of(rank, op);
      const Time& of = time(rank, op);
      if (call.number < 0 || !of.ran()) continue;
      const auto number = static_cast<std::size_t>(call.number);
      if (number >= least.size()) least.resize(number + 1, std::numeric_limits<double>::quiet_NaN());
      if (std::isnan(least[number])) least[number] = least_end(call, op) + spans_.begin(call, op, last_);
      starts_[slot(rank, op)] = least[number] - of.start;
    }
  }

  double least_end(const PastSpans::Call& call, int op) const {
    double least = kNever;
    for (const int member : *call.members) least = std::min(least, ends_[slot(member, op)]);
    return least;
  }

  const PastRun& run_;
  const PastSpans& spans_;
  const bool repeats_;
  const double period_;
  const int last_;
  std::vector<double> ends_, starts_;             // [op][rank] slack of the end, and of the start
  std::vector<Time> times_;                       // [op][rank]
  std::vector<std::vector<Follower>> followers_;  // [op] what waits for it
  double enough_ = kNever;  // of until_itself, and what follows here: longer ways are not followed
  // The least waiting so far, [rank][op] and behind these [first member][op] of collectives.
  std::vector<double> reached_;
  std::vector<std::size_t> touched_;  // places in it
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> ways_;
};

}  // namespace

std::vector<OpSlack> op_slack(const PastRun& run, const PastSpans& spans, const CriticalPath& path) {
  return Slack(run, spans, path).of_ops();
}

}  // namespace shardsim
